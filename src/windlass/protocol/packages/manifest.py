"""A package's manifest: what it is called, which nodes it brings, and what runs each of them."""

from typing import Any

import msgspec

from windlass.protocol.packages.digest import plain


class Part(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Base of the manifest's parts: camelCase as their authors write them."""


class Adapter(Part, frozen=True, kw_only=True):
    """A Python object that handles nodes: `module`, or `module:attribute`."""

    name: str
    entrypoint: str
    runtime: str = ""
    capabilities: tuple[str, ...] = ()
    description: str = ""
    idempotency: str = ""
    metadata: dict[str, Any] = {}


class Runtime(Part, frozen=True, kw_only=True):
    """How one runtime handles a node, in the older form."""

    config: dict[str, Any] = {}
    handler: str = ""


class NodeSchema(Part, frozen=True, kw_only=True):
    """JSON Schemas of what a node takes and gives."""

    parameters: dict[str, Any] | bool = True
    results: dict[str, Any] | bool = True


class Node(Part, frozen=True, kw_only=True):
    """One kind of node the package brings."""

    type: str
    role: str = "node"
    status: str = "published"
    category: str = ""
    label: str = ""
    description: str = ""
    tags: tuple[str, ...] = ()
    adapter: str = ""
    handler: str = ""
    runtimes: dict[str, Runtime] = {}
    config: dict[str, Any] = {}
    schema: NodeSchema = NodeSchema()
    ui: dict[str, Any] = {}


class Python(Part, frozen=True, kw_only=True):
    requires: str = ""
    dependencies: tuple[str, ...] = ()


class Resource(Part, frozen=True, kw_only=True):
    """A file the package needs: in the archive, downloaded from its URL when the package is
    installed, or made by a hook. Its type is the author's word for it; `file` must be packed."""

    path: str
    type: str = "file"
    sha256: str = ""
    url: str = ""

    @property
    def digest(self) -> str:
        return plain(self.sha256) if self.sha256 else ""


class Hooks(Part, frozen=True, kw_only=True):
    """Scripts of the package that the worker runs, if its operator allows them."""

    install: tuple[str, ...] = ()
    uninstall: tuple[str, ...] = ()


class HandlerEntry(msgspec.Struct, frozen=True, kw_only=True):
    """What runs one type of node: an object in the package, and how it is called."""

    type: str
    adapter: str
    module: str
    path: tuple[str, ...] = ()
    """Attributes to walk from the module; a class met on the way is made once."""
    maybe: str = ""
    """A last attribute that is walked only if it is there: older manifests leave it open."""
    config: dict[str, Any] = {}
    exec_mode: str = "auto"
    """`auto` (coroutines on the loop, the rest in threads), `inline` or `thread`."""

    @property
    def target(self) -> str:
        """The entry in words, for messages."""
        return self.module + (":" + ".".join(self.path) if self.path else "")


class Manifest(Part, frozen=True, kw_only=True):
    """All a manifest says, in one form; `read_manifest` makes it and has checked it."""

    name: str
    version: str
    schema_version: str = "1.0.0"
    description: str = ""
    adapters: tuple[Adapter, ...] = ()
    nodes: tuple[Node, ...] = ()
    python: Python = Python()
    resources: tuple[Resource, ...] = ()
    hooks: Hooks = Hooks()
    requirements: dict[str, Any] = {}
    metadata: dict[str, Any] = {}

    def node(self, node_type: str) -> Node | None:
        return next((node for node in self.nodes if node.type == node_type), None)

    def adapter_of(self, node: Node) -> Adapter | None:
        """Who handles a node: the adapter it names, that of its runtime, or one capable of it."""
        if node.adapter:
            return next((a for a in self.adapters if a.name == node.adapter), None)
        by_runtime = [a for a in self.adapters if a.runtime and a.runtime in node.runtimes]
        capable = [a for a in self.adapters if node.type in a.capabilities]
        both = [a for a in capable if a in by_runtime]
        return next(iter([*both, *capable, *by_runtime]), None)

    def entry(self, node_type: str) -> HandlerEntry | None:
        """What runs a type of node: one the package describes, or one an adapter is capable of."""
        node = self.node(node_type) or Node(type=node_type)
        adapter = self.adapter_of(node)
        return None if adapter is None else _entry(node, adapter)

    def handlers(self) -> list[HandlerEntry]:
        """Everything that can be called: the nodes, and what adapters say they are capable of."""
        described = {node.type for node in self.nodes}
        able = [kind for adapter in self.adapters for kind in adapter.capabilities]
        more = dict.fromkeys(kind for kind in able if kind not in described)
        found = [self.entry(kind) for kind in more]
        return [*self.entries(), *(entry for entry in found if entry is not None)]

    def entries(self) -> list[HandlerEntry]:
        """What runs each node, in the order of the manifest."""
        found = [self.entry(node.type) for node in self.nodes]
        return [entry for entry in found if entry is not None]


def _entry(node: Node, adapter: Adapter) -> HandlerEntry:
    runtime = node.runtimes.get(adapter.runtime) or Runtime()
    module, _, attribute = adapter.entrypoint.partition(":")
    path = tuple(attribute.split(".")) if attribute else ()
    handler = node.handler or runtime.handler
    maybe = ""
    if handler:
        steps = tuple(handler.split("."))
        path = path if path[-len(steps) :] == steps else path + steps
    else:
        maybe = node.type.rpartition(".")[2].replace("-", "_")
    config = {**runtime.config, **node.config}
    mode = config.get("exec_mode") or adapter.metadata.get("exec_mode")
    return HandlerEntry(
        type=node.type,
        adapter=adapter.name,
        module=module,
        path=path,
        maybe=maybe,
        config=config,
        exec_mode=mode if mode in ("inline", "thread") else "auto",
    )

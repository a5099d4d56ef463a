"""Handlers: which handlers of which packages exist, as far as anybody has mentioned them.

A worker may say that it has a package without saying what is in it. Its demand is stated handler by
handler, so the names come from wherever they are seen: manifests, graphs of runs, names of queues.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any

from windlass.model.graph import Graph, Transport
from windlass.model.queues import is_link, service_of
from windlass.model.values import is_list, is_object

_NAME_MAX = 400
_HANDLERS_MAX = 1_000
"""The most handlers a manifest is believed to name: everybody who has it waits for all of them."""


def is_name(text: str) -> bool:
    """Whether a queue can be named after it. Workers say what they have, so it may be anything."""
    return 0 < len(text) <= _NAME_MAX and text.isprintable()


_CHARS_MAX = 8_000_000
"""What all names may take together; packages nobody asked for lately are forgotten first, and
learned again when they are mentioned."""


class Handlers:
    """Names of handlers by `package@version`, of those asked for last."""

    def __init__(self, chars_max: int = _CHARS_MAX) -> None:
        self._known: OrderedDict[str, set[str]] = OrderedDict()
        self._chars = 0
        self._chars_max = chars_max
        self.count = 0
        """How often this has changed: what was derived from it holds until it does."""
        self.on_new: list[Callable[[str], None]] = []
        """Told of each package of which a new handler became known."""

    def of(self, package: str) -> list[str]:
        """The services (`package@version:handler`) of a package."""
        if package in self._known:
            self._known.move_to_end(package)
        return [f"{package}:{handler}" for handler in sorted(self._known.get(package, ()))]

    def learn_manifest(self, package: str, manifest: dict[str, Any]) -> None:
        self.learn(package, handlers_in(manifest))

    def learn(self, package: str, handlers: Iterable[str]) -> None:
        known = self._known.get(package, set())
        new = {name for name in handlers if is_name(name)} - known
        if new:
            self._known[package] = known | new
            self._known.move_to_end(package)
            self.count += 1
            self._chars += sum(map(len, new))
            while self._chars > self._chars_max and len(self._known) > 1:
                _, forgotten = self._known.popitem(last=False)
                self._chars -= sum(map(len, forgotten))
            for tell in self.on_new:
                tell(package)

    def learn_queue(self, queue: str) -> None:
        """Take a name from a queue's: `link:package@version:handler`, or a worker's own."""
        if is_link(queue):
            package, _, handler = service_of(queue).partition(":")
            if handler:
                self.learn(package, [handler])

    def learn_graph(self, graph: Graph) -> None:
        for node in graph.nodes.values():
            target = node.target
            if target is not None and target.transport is Transport.LINK and target.package:
                self.learn(f"{target.package}@{target.version}", [target.handler])


def handlers_in(manifest: dict[str, Any]) -> list[str]:
    """The handlers a manifest names, as far as queues can be named after them."""
    nodes = manifest.get("nodes")
    types = [node.get("type") for node in nodes if is_object(node)] if is_list(nodes) else []
    names = [name for name in types if isinstance(name, str) and is_name(name)]
    return names[:_HANDLERS_MAX]

"""What a port is bound to: `results.a[0].b`, `/results/a/0/b`, and into a container `#node`.

A path starts at `parameters` or `results`. A prefix (`#<node>`, `@alias.child.#<node>`) or the same
thing spelt out (`scope`) names a node inside the container whose port it is.
"""

from windlass.dialects.fields import Problems
from windlass.dialects.flow.refs import parse_path
from windlass.dialects.plain import under
from windlass.dialects.workflow.fields import Exact
from windlass.dialects.workflow.shape import Binding, Path

BINDING_FIELDS = frozenset({"path", "mode", "prefix", "scope"})
SCOPE_FIELDS = frozenset({"kind", "subgraphAliases", "nodeId"})
ROOTS = ("parameters", "results")
MODES = ("read", "write", "two_way")

_EXAMPLE = 'as in "results.rows[0].name", or "/results/rows/0/name"'


def read_binding(value: object, where: str, problems: Problems) -> Binding | None:
    """A binding object; None, with a problem noted, if it is not one."""
    fields = Exact(value, where, BINDING_FIELDS, problems)
    fields.one_of("mode", MODES)
    text = fields.needed("path", f"name a place in parameters or results, {_EXAMPLE}")
    if not text:
        return None
    found = parse_place(text, fields.at("path"), problems)
    if found is None:
        return None
    root, path = found
    if fields.has("prefix"):
        prefix = fields.text("prefix")
        target = parse_prefix(prefix, fields.at("prefix"), problems) if prefix else ("", ())
    else:
        target = _read_scope(fields, problems)
    return None if target is None else Binding(root, path, *target)


def parse_place(text: str, where: str, problems: Problems) -> tuple[str, Path] | None:
    """Root and steps of a path; None, with a problem noted, if it has none."""
    steps = _pointer(text) if text.startswith("/") else parse_path(text)
    if steps is None:
        problems.add(where, f'"{text:.60}" is not a path', f"write keys and indexes, {_EXAMPLE}")
        return None
    root = str(steps[0])
    if root not in ROOTS:
        hint = problems.closest(root, ROOTS) or f"a path begins at one of them, {_EXAMPLE}"
        problems.add(where, f'"{root:.60}" is neither parameters nor results', hint)
        return None
    return root, steps[1:]


def parse_prefix(text: str, where: str, problems: Problems) -> tuple[str, tuple[str, ...]] | None:
    """The node a prefix names and the aliases before it."""
    *aliases, last = text.removeprefix("@").split(".")
    plain = all(aliases) and (bool(aliases) or not text.startswith("@"))
    if not plain or not last.startswith("#") or len(last) < 2:
        hint = 'write "#<node id>", or "@<subgraph>.#<node id>"'
        problems.add(where, f'"{text:.60}" names no node', hint)
        return None
    return last[1:], tuple(aliases)


def _read_scope(fields: Exact, problems: Problems) -> tuple[str, tuple[str, ...]] | None:
    if not fields.has("scope"):
        return "", ()
    scope = fields.within("scope", SCOPE_FIELDS)
    scope.one_of("kind", ("local", "subgraph"))
    node, aliases = scope.text("nodeId"), scope.texts("subgraphAliases")
    if scope.text("kind") == "subgraph" and not node:
        problems.add(under(fields.at("scope"), "nodeId"), "is missing", "name the node inside")
        return None
    return node, tuple(aliases)


def _pointer(text: str) -> Path | None:
    """The steps of a JSON pointer (RFC 6901)."""
    parts = text[1:].split("/")
    if any("~" in part.replace("~0", "").replace("~1", "") for part in parts):
        return None
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in parts)

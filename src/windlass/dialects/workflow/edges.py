"""Edges as they are written: from a port of one node to a port of another."""

from windlass.dialects.fields import Problems
from windlass.dialects.plain import is_list, under
from windlass.dialects.workflow.fields import Exact
from windlass.dialects.workflow.shape import End, Wire

EDGE_FIELDS = frozenset({"id", "source", "target", "condition", "label", "metadata", "extensions"})
END_FIELDS = frozenset({"node", "port"})


def read_wires(value: object, where: str, problems: Problems, *, ids: bool = False) -> list[Wire]:
    """A list of edges; with `ids`, each must have one of its own."""
    if value is None:
        return []
    if not is_list(value):
        problems.wrong_type(where, value, "a list")
        return []
    wires: list[Wire] = []
    seen: set[str] = set()
    for index, item in enumerate(value):
        fields = Exact(item, under(where, index), EDGE_FIELDS, problems)
        if ids:
            _check_id(fields, seen, problems)
        source, target = _read_end(fields, "source"), _read_end(fields, "target")
        if source is not None and target is not None:
            condition = fields.raw("condition")
            at = fields.at("condition")
            wires.append(Wire(fields.where, source, target, condition, at))
    return wires


def _check_id(fields: Exact, seen: set[str], problems: Problems) -> None:
    edge_id = fields.needed("id", "give every edge an id of its own")
    if edge_id and edge_id in seen:
        reason = f'another edge has the id "{edge_id:.60}" too'
        problems.add(fields.at("id"), reason, "give every edge an id of its own")
    seen.add(edge_id)


def _read_end(fields: Exact, name: str) -> End | None:
    end = fields.within(name, END_FIELDS)
    if not fields.has(name):
        fields.problems.add(fields.at(name), "is missing", "name a node and a port")
        return None
    node = end.needed("node", "name a node by its id")
    return End(node, end.text("port"), end.where) if node else None

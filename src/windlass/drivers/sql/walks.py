"""How a list of runs is walked: along the index of what a filter looks for, newest first.

SQLite has no figures to go by and PostgreSQL's may be old, so a list says itself what it goes by:
the columns of other indexes are written as something that no index has.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from windlass.ports.store import Cond

BYTEWISE = ' collate "C"'
"""What PostgreSQL compares names with: beginnings stand together only in the order of bytes."""

_OTHERS = {"tenant": "tenant || ''", "state": "state || ''"}


class Walk(NamedTuple):
    """One index to go along, or one after the other for each of some values."""

    each: Cond | None = None
    """A condition that holds for one of a few values, each of which is walked for itself."""
    column: str = ""
    """What is compared with each of them."""
    source: str = ""
    """Where the rows come from, if not from their own table alone."""
    order: str = "id"
    names: Mapping[str, str] = {}
    """What stands for columns in the conditions."""


def walk_of(table: str, where: Sequence[Cond], order: str, bytewise: str) -> Walk | None:
    """What to go along, where the order of the database's own choice may be slow."""
    if order != "id":
        return None
    if table == "runs" and (found := _sought(where, bytewise)) is not None:
        return found
    states = next((c for c in where if c.column == "state" and c.op == "in"), None)
    return None if states is None else Walk(states, "state")


def _sought(where: Sequence[Cond], bytewise: str) -> Walk | None:
    by = {(cond.column, cond.op): cond for cond in where}
    if tags := by.get(("tags", "tagged")):
        joined = "run_tags join runs on runs.id = run_tags.run_id"
        names = {**_OTHERS, "id": "run_tags.run_id"}
        return Walk(tags, "run_tags.tag", joined, "run_tags.run_id", names)
    name = "flow_name" + bytewise
    names = {**_OTHERS, "flow_name": name}
    if flows := by.get(("flow_name", "in")):
        return Walk(flows, name, names=names)
    if ("flow_name", "=") in by:
        return Walk(names=names)
    if by.keys() & {("version_id", "="), ("error", "not null")}:
        return Walk(names=_OTHERS)
    return None


def values_of(walk: Walk) -> list[Any]:
    return list(dict.fromkeys(walk.each.value)) if walk.each is not None else []

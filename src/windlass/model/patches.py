"""Patches: how a run's graph grows while it runs.

A run's graph is its version's and its patches, in order; the number of the newest is the graph's
revision. A patch is part of the run's record and never changes.
"""

import msgspec

from windlass.model.graph import Edge, Node
from windlass.model.rows import Json, Row


class Patch(msgspec.Struct, frozen=True, omit_defaults=True):
    """A change of a run's graph: nodes that wait for all their edges, and edges between them.

    A node that is dropped and added again is replaced. What stands on a node or an edge that is
    changed is superseded with everything that came of it; all else is kept.
    """

    nodes: tuple[Node, ...] = ()
    edges: tuple[Edge, ...] = ()
    drop: tuple[str, ...] = ()
    """Paths of nodes that are no longer wanted, with all that is in them and their edges."""
    redo: tuple[str, ...] = ()
    """Paths of nodes whose results no longer stand, though nothing about them changes."""
    reason: str = ""
    author: str = ""
    scope: str = ""
    """Of a plan: the path of its node."""
    plan: Json | None = None
    """The plan as it was accepted, in its author's words."""

    def json(self) -> Json:
        return msgspec.json.encode(self).decode()


class GraphPatch(Row, frozen=True, kw_only=True):
    """A patch as it was accepted, under the revision it made."""

    TABLE = "graph_patches"
    KEY = ("run_id", "rev")
    FIXED = frozenset({"patch", "created_at"})
    run_id: str
    rev: int
    patch: Json
    created_at: int


def read_patch(text: Json) -> Patch:
    return msgspec.json.decode(text, type=Patch)

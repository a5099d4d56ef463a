"""Where things stand in the graph: one node's spot, and the surroundings of a whole graph."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from windlass.dialects.workflow.connections import Link, Way
from windlass.dialects.workflow.shape import Path
from windlass.model.graph import Expr, Fill, Output


@dataclass(frozen=True, slots=True)
class Inside:
    """Where a graph stands, and what its container passes in and out."""

    path: str = ""
    level: int = 0
    trail: tuple[str, ...] = ()
    delivered: Mapping[str, Sequence[Path]] = field(default_factory=dict[str, Sequence[Path]])
    """By inner node: places in its input that the container's input has values for."""
    offers: Mapping[str, Path] = field(default_factory=dict[str, Path])
    """The container's own parameters by the keys of its input ports."""
    exports: frozenset[Way] = frozenset()
    carry: Sequence[Link] = ()


@dataclass(frozen=True, slots=True)
class Spot:
    """Where one node stands in the graph, and what is the same for every kind of node."""

    path: str
    inside: Inside
    fills: tuple[Fill, ...]
    output: Output
    when: Expr | None = None
    ways: frozenset[Way] = frozenset()
    """Of a container: nodes inside it whose results somebody further out reads."""
    filled: frozenset[Path] = frozenset()
    """Places in the node's own parameters that are filled."""
    awaited: bool = False
    next: str = ""

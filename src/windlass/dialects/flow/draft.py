"""A graph in the making: what the lowering of every scope and node adds to."""

from collections import defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from windlass.dialects.fields import Fields, Problems
from windlass.dialects.flow.targets import NO_CALL, CallFields
from windlass.dialects.plain import Limits
from windlass.model.graph import Edge, Graph, Kind, LimitSpec, Node, Output


@dataclass(frozen=True, slots=True)
class Override:
    """What a `subflow_execs` entry changes on one node of the subflow."""

    where: str
    call: CallFields
    params: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Scope:
    """A body of nodes and edges still to be lowered: the flow's own, or a subflow's."""

    body: Fields
    path: str = ""
    level: int = 0
    call: CallFields = NO_CALL
    """What nodes of a subflow fall back to."""
    overrides: Mapping[str, Override] = field(default_factory=dict[str, Override])
    limits: tuple[LimitSpec, ...] = ()
    """What every call below here is under."""


@dataclass(frozen=True, slots=True)
class WrittenNode:
    """One node as it is written, with what its whole scope must know before it is lowered."""

    key: str
    path: str
    where: str
    fields: Fields
    prep: Fields
    post: Fields
    output: Output


class Draft:
    """Collects nodes, edges, problems, and the scopes found on the way.

    Scopes wait in a queue rather than being entered where they are found, so nesting costs no
    recursion and the order of problems follows the levels of the definition.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.problems = Problems()
        self.waiting: deque[Scope] = deque()
        self.starts: dict[str, tuple[str, ...]] = {}
        self.nodes: dict[str, Node] = {}
        self.edges: dict[str, list[Edge]] = defaultdict(list)
        self._admitted = 0

    def admit(self, count: int, where: str) -> bool:
        """Whether the graph may grow by `count` nodes; it says so once if it may not."""
        most = self.limits.nodes_max
        fitted = self._admitted <= most
        self._admitted += count
        if self._admitted <= most:
            return True
        if fitted:
            hint = "split the flow, or use foreach for branches that are alike"
            self.problems.add(where, f"the flow has more than {most} nodes", hint)
        return False

    def add(self, node: Node) -> None:
        self.nodes[node.path] = node

    def graph(self, *, fails_run: bool, params: str) -> Graph:
        """The finished graph; raises everything that is wrong with it instead, if anything is."""
        self.problems.raise_if_any()
        edges = {source: tuple(edges) for source, edges in self.edges.items()}
        grows = any(node.kind is Kind.PLAN for node in self.nodes.values())
        return Graph(
            self.starts, self.nodes, edges, fails_run=fails_run, params=params, grows=grows
        )

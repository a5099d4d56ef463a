"""A graph in the making, and where each node of the definition went in it."""

from collections.abc import Sequence

import msgspec

from windlass.dialects.fields import Problems
from windlass.dialects.plain import Limits
from windlass.model.graph import Edge, Graph, Kind, Node


class NodeOrigin(msgspec.Struct, frozen=True):
    """What a node of the graph stands for in the definition."""

    path: str
    node: str
    """The id of the workflow's node, or of the middleware."""
    role: str
    """`node`, `container`, `middleware`; of a node with middlewares `host` is the node itself, of
    a container that loops `body` is an iteration and `again` the choice after it."""
    type: str
    label: str
    package: str = ""
    version: str = ""
    container: str = ""
    """The path of the container around it."""
    host: str = ""
    """Of a middleware: the id of the node it stands before."""
    middlewares: tuple[str, ...] = ()
    """The ids of the middlewares before the node, outermost first."""
    trail: tuple[str, ...] = ()
    """The ids of the containers around it, outermost first."""


class Draft:
    """Collects nodes, edges, places and problems."""

    def __init__(self, limits: Limits, problems: Problems) -> None:
        self.limits = limits
        self.problems = problems
        self.starts: dict[str, tuple[str, ...]] = {}
        self.nodes: dict[str, Node] = {}
        self.edges: dict[str, tuple[Edge, ...]] = {}
        self.joins: dict[str, int] = {}
        self.places: dict[str, NodeOrigin] = {}
        self.params = ""
        """The JSON Schema of what a run is given."""
        self._admitted = 0

    def admit(self, count: int, where: str) -> bool:
        """Whether the graph may grow by `count` nodes; it says so once if it may not."""
        most = self.limits.nodes_max
        fitted = self._admitted <= most
        self._admitted += count
        if self._admitted > most and fitted:
            hint = "a subgraph counts once for every container it is inside"
            self.problems.add(where, f"the workflow has more than {most} nodes", hint)
        return self._admitted <= most

    def add(self, node: Node, place: NodeOrigin) -> None:
        self.nodes[node.path] = node
        self.places[node.path] = place

    def connect(self, path: str, edges: Sequence[Edge]) -> None:
        if edges:
            self.edges[path] = tuple(edges)

    def graph(self) -> Graph:
        """The finished graph; raises everything that is wrong with it instead, if anything is."""
        self.problems.raise_if_any()
        grows = any(node.kind is Kind.PLAN for node in self.nodes.values())
        return Graph(
            self.starts, self.nodes, self.edges, self.joins, True, self.params, grows=grows
        )

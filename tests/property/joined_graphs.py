"""Random graphs whose nodes wait for all their edges, with fan-outs, containers and loops."""

from typing import Any

from hypothesis import strategies as st

from windlass.model.graph import (
    ActionRule,
    Activation,
    Case,
    Edge,
    Expr,
    Graph,
    Kind,
    Node,
    Output,
    Ref,
    Root,
    Strategy,
    Target,
    Transport,
)
from windlass.model.ids import node_path

_LEAVES = (Kind.CALL, Kind.CALL, Kind.CALL, Kind.CHOICE, Kind.TIMER, Kind.JOIN)
_ALL = (*_LEAVES, Kind.FOREACH, Kind.PARALLEL, Kind.SUBFLOW, Kind.SUBFLOW)
_GO = Expr("eq", (Ref(Root.INPUT, ("results", "go")), Ref(Root.LITERAL, literal=True)))


class Drawing:
    """A graph under way."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.starts: dict[str, tuple[str, ...]] = {}
        self.nodes: dict[str, Node] = {}
        self.edges: dict[str, tuple[Edge, ...]] = {}
        self.joins: dict[str, int] = {}

    def chance(self, percent: int) -> bool:
        return self.draw(st.integers(0, 99)) < percent

    def scope(self, path: str, depth: int) -> None:
        """Some nodes side by side, wired forwards, each reading those before it."""
        count = self.draw(st.integers(1, 5 if depth == 0 else 3))
        paths = [node_path(path, f"n{number}") for number in range(count)]
        into: dict[str, list[str]] = {each: [] for each in paths}
        for high, target in enumerate(paths):
            for low, source in enumerate(paths[:high]):
                if self.chance(60 if low == high - 1 else 30):
                    into[target].append(source)
                    self.edge(source, target)
        for target, sources in into.items():
            self.joins[target] = len(sources) or 1
        self.starts[path] = tuple(each for each in paths if not into[each])
        for each in paths:
            self.node(each, into[each], depth)

    def edge(self, source: str, target: str) -> None:
        made = Edge(source, "default", target, _GO if self.chance(25) else None)
        self.edges[source] = (*self.edges.get(source, ()), made)

    def node(self, path: str, sources: list[str], depth: int) -> None:
        kind = self.draw(st.sampled_from(_ALL if depth < 2 else _LEAVES))
        reads: Any = {each: Ref(Root.RESULTS, (each,)) for each in sources}
        if depth and self.chance(50):
            reads["container"] = Ref(Root.CONTAINER)
        more: dict[str, Any] = {"input": reads, "output": Output(key=path.replace("/", "."))}
        match kind:
            case Kind.CALL:
                more["target"] = Target(Transport.LOCAL, "f")
            case Kind.CHOICE:
                more["action"] = ActionRule(static="default")
            case Kind.TIMER:
                more["delay"] = Ref(Root.LITERAL, literal=5)
            case Kind.FOREACH:
                more |= self.foreach(path, sources)
            case Kind.PARALLEL:
                more |= self.parallel(path)
            case Kind.SUBFLOW if self.chance(40):
                self.loop(path, depth)
            case Kind.SUBFLOW:
                self.scope(path, depth + 1)
            case _:
                pass
        self.nodes[path] = Node(
            path=path, kind=kind, activation=Activation.ALL, fires_all=True, **more
        )

    def branch(self, path: str) -> None:
        self.nodes[path] = Node(path=path, kind=Kind.CALL, target=Target(Transport.LOCAL, "f"))

    def fan_out(self) -> dict[str, Any]:
        strategies = (Strategy.DEFAULT, Strategy.FAIL_FAST)
        return {
            "concurrent": self.draw(st.booleans()),
            "parallel_max": self.draw(st.integers(0, 2)),
            "strategy": self.draw(st.sampled_from(strategies)),
        }

    def foreach(self, path: str, sources: list[str]) -> dict[str, Any]:
        """Over a list that a node before it gives, if that is a call: a redo may change it."""
        self.branch(f"{path}/*")
        calls = [s for s in sources if s in self.nodes and self.nodes[s].kind is Kind.CALL]
        items = Ref(Root.RESULTS, (calls[0], "items")) if calls else _literal([1, 2, 3])
        return {**self.fan_out(), "input": items}

    def parallel(self, path: str) -> dict[str, Any]:
        count = self.draw(st.integers(1, 3))
        for number in range(count):
            self.branch(f"{path}/{number}")
        return {**self.fan_out(), "branches": count}

    def loop(self, path: str, depth: int) -> None:
        """A container that is gone through a number of times, as a workflow's loop is."""
        body, again = node_path(path, "body"), node_path(path, "again")
        bound = _literal(2 * self.draw(st.integers(1, 3)))
        self.starts[path] = (body,)
        reads = {"container": Ref(Root.CONTAINER), "before": Ref(Root.SHARED, ("round",))}
        self.nodes[body] = Node(
            path=body, kind=Kind.SUBFLOW, input=reads, output=Output(key="round")
        )
        case = Case("again", Expr("lt", (Ref(Root.STEP), bound)))
        self.nodes[again] = Node(path=again, kind=Kind.CHOICE, cases=(case,))
        self.edges[body] = (Edge(body, "default", again),)
        self.edges[again] = (Edge(again, "again", body),)
        self.scope(body, depth + 1)


def _literal(value: Any) -> Ref:
    return Ref(Root.LITERAL, literal=value)


@st.composite
def joined_graph(draw: st.DrawFn) -> Graph:
    made = Drawing(draw)
    made.scope("", 0)
    return Graph(made.starts, made.nodes, made.edges, made.joins, fails_run=True)

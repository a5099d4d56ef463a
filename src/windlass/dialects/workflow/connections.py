"""What the edges of one graph mean: which nodes wait for which, and what is carried where.

It knows nothing of where its graph will stand: one subgraph may be inside several containers.
Places are therefore given as steps into the input or the output of a node's task, and become
references when the graph is lowered.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from windlass.dialects.fields import Problems
from windlass.dialects.workflow.conditions import Conditions
from windlass.dialects.workflow.containers import Inner
from windlass.dialects.workflow.ports import INPUT, OUTPUT, Landing, find_port
from windlass.dialects.workflow.schemas import fits, types_at
from windlass.dialects.workflow.shape import Binding, Body, Path, Port, Source, Wire, WorkflowNode
from windlass.model.graph import Expr, Ref, Root

HOST = "host"
"""Where a node with middlewares keeps its own parameters and results, beside theirs."""
RESULTS = "results"
"""Where a loop keeps what its last iteration left."""

_DEPTH_MAX = 64

Way = tuple[str, ...]
"""Nodes from one inside a container down to the one whose results are to leave it."""


@dataclass(frozen=True, slots=True)
class Link:
    """An edge: what it carries goes to `into` the target's input, if it carries anything."""

    source: str
    target: str
    root: Root = Root.RESULTS
    steps: Path = ()
    into: Path | None = None
    when: Expr | None = None


@dataclass(frozen=True, slots=True)
class Connections:
    """One graph's edges by the nodes they lead to and leave, and what its nodes wait for."""

    body: Body
    into: Mapping[str, Sequence[Link]]
    out: Mapping[str, Sequence[Link]]
    conditions: Mapping[str, Expr | None]
    again: Mapping[str, Expr | None]
    """Of containers that loop: the condition on which they go on."""
    carry: Mapping[str, Sequence[Link]]
    """Of containers that loop: what one iteration hands to the next."""


class Connector:
    """Reads the connections of the graphs of one workflow."""

    def __init__(self, source: Source, problems: Problems) -> None:
        self.source = source
        self.inner = Inner(source)
        self.problems = problems
        self.ways: defaultdict[str, set[Way]] = defaultdict(set)
        """By the place of a container: nodes inside it whose results somebody outside reads."""

    def connect(self, body: Body) -> Connections:
        into: defaultdict[str, list[Link]] = defaultdict(list)
        out: defaultdict[str, list[Link]] = defaultdict(list)
        for wire in body.wires:
            link = self.link(body, wire)
            if link is not None:
                into[link.target].append(link)
                out[link.source].append(link)
        entries = body.entries
        return Connections(
            body,
            into,
            out,
            {key: self.node_condition(entry) for key, entry in entries.items()},
            {key: self.loop_condition(entry) for key, entry in entries.items()},
            {key: self.carried(entry) for key, entry in entries.items()},
        )

    def carried(self, entry: WorkflowNode) -> list[Link]:
        """The edges of a loop that lead from one iteration to the next."""
        loop = entry.container.loop if entry.container is not None else None
        subgraph = self.source.inside(entry)
        links: list[Link] = []
        for wire in loop.carry if loop is not None and subgraph is not None else ():
            assert subgraph is not None
            link = self.link(subgraph.body, wire)
            if link is None:
                continue
            if wire.condition or link.into is None or link.root is not Root.RESULTS:
                hint = "name an output port bound to results and an input port, and no condition"
                self.problems.add(wire.where, "carries nothing to the next iteration", hint)
                continue
            self.ways[entry.where].add((link.source,))
            links.append(link)
        return links

    def link(self, body: Body, wire: Wire) -> Link | None:
        """An edge between two nodes that exist; the others are problems."""
        ends = (wire.source, wire.target)
        source, target = (self._known(body, end.node, end.where) for end in ends)
        if source is None or target is None:
            return None
        out = find_port(source, wire.source, OUTPUT, self.problems)
        into = find_port(target, wire.target, INPUT, self.problems)
        carried = self._origin(source, out)
        place = self._place(target, into)
        when = self.edge_condition(source, wire)
        if carried is None or place is None or not self._fit(wire, out, into):
            return Link(source.id, target.id, when=when)
        return Link(source.id, target.id, *carried, place, when)

    def _known(self, body: Body, node: str, where: str) -> WorkflowNode | None:
        entry = body.entries.get(node)
        if entry is None:
            hint = self.problems.closest(node, body.entries)
            self.problems.add(f"{where}.node", f'there is no node "{node:.60}"', hint)
        return entry

    # Where values come from and go to

    def _place(self, entry: WorkflowNode, landing: Landing) -> Path | None:
        """Where in the task's input a port's value goes; None if it is for order only."""
        port = landing.port
        if port is None or port.binding is None or port.binding.root != "parameters":
            return None
        if landing.middleware:
            return (f"#{landing.entry.id}", *port.binding.path)
        way = self._way(entry, port)
        return None if way is None else path_into(entry, way, port.binding.path)

    def _origin(self, entry: WorkflowNode, landing: Landing) -> tuple[Root, Path] | None:
        """What a port's value is read from; None if there is nothing to read."""
        port = landing.port
        if port is None or port.binding is None:
            return None
        binding = port.binding
        root = Root.RESULTS if binding.root == "results" else Root.PARAMETERS
        if landing.middleware:
            return root, (f"#{landing.entry.id}", *binding.path)
        way = self._way(entry, port)
        if way is None:
            return None
        if root is Root.RESULTS:
            return root, self.path_out(entry, way, binding.path)
        if way:
            hint = "bind the port to its results"
            reason = "the parameters of a node inside a container cannot leave it"
            self.problems.add(port.where, reason, hint)
            return None
        return root, (*own_step(entry), *binding.path)

    def _way(self, entry: WorkflowNode, port: Port) -> tuple[WorkflowNode, ...] | None:
        assert port.binding is not None
        return self.inner.find(entry, port.binding, port.where, self.problems)

    def path_out(self, entry: WorkflowNode, way: tuple[WorkflowNode, ...], path: Path) -> Path:
        """Steps into a node's output: through the containers to the node meant, and on.

        Of a container that is not looked into, its only last node is meant, if it has only one.
        """
        down = [entry, *way]
        while (sink := self.inner.sink(down[-1])) is not None and len(down) < _DEPTH_MAX:
            down.append(sink)
        if len(down) > 1:
            self.ways[entry.where].add(tuple(inner.id for inner in down[1:]))
        steps: Path = ()
        for at, inner in enumerate(down):
            steps += (f"#{inner.id}",) if at else ()
            steps += own_step(inner)
            if inner.container is not None and inner.container.loop is not None:
                steps += (RESULTS,)
        return (*steps, *path)

    # Conditions

    def edge_condition(self, entry: WorkflowNode, wire: Wire) -> Expr | None:
        """A condition on the task an edge leaves: its parameters and results."""

        def resolve(binding: Binding, where: str) -> Ref | None:
            way = self.inner.find(entry, binding, where, self.problems)
            if way is None:
                return None
            if binding.root == "results":
                steps = self.path_out(entry, way, binding.path)
                return Ref(Root.INPUT, ("results", *steps))
            return Ref(Root.INPUT, ("parameters", *own_step(entry), *binding.path))

        if not wire.condition:
            return None
        return Conditions(resolve, self.problems).read(wire.condition, wire.condition_at)

    def node_condition(self, entry: WorkflowNode) -> Expr | None:
        """A condition on the parameters of a task that is about to begin."""

        def resolve(binding: Binding, where: str) -> Ref | None:
            if binding.root == "parameters" and not binding.node:
                return Ref(Root.INPUT, ("parameters", *own_step(entry), *binding.path))
            hint = "read a parameter, or put the condition on an edge"
            self.problems.add(where, "before a node begins there are only its parameters", hint)
            return None

        if entry.condition is None:
            return None
        return Conditions(resolve, self.problems).read(entry.condition, entry.condition_at)

    def loop_condition(self, entry: WorkflowNode) -> Expr | None:
        """A condition on what the last iteration left, and on the container's parameters."""
        loop = entry.container.loop if entry.container is not None else None

        def resolve(binding: Binding, where: str) -> Ref | None:
            way = self.inner.find(entry, binding, where, self.problems)
            if way is None:
                return None
            if binding.root == "parameters":
                return Ref(Root.CONTAINER, binding.path)
            steps = self.path_out(entry, way, binding.path)
            return Ref(Root.SHARED, steps[len(own_step(entry)) :])

        if loop is None or loop.condition is None:
            return None
        return Conditions(resolve, self.problems).read(loop.condition, loop.condition_at)

    def _fit(self, wire: Wire, out: Landing, into: Landing) -> bool:
        """Whether one port may take what the other gives; an edge between others is for order."""
        given, wanted = _types(out, OUTPUT), _types(into, INPUT)
        if fits(given, wanted):
            return True
        left, right = (" or ".join(sorted(kinds or ())) for kinds in (given, wanted))
        reason = f'"{wire.source.port:.60}" is {left}, "{wire.target.port:.60}" takes {right}'
        text = f"{reason}; the edge is for order only"
        self.problems.warn(wire.where, text, "connect ports of the same type")
        return False


def _types(landing: Landing, side: str) -> frozenset[str] | None:
    binding = landing.port.binding if landing.port is not None else None
    if binding is None or binding.node or landing.entry.container is not None:
        return None
    schemas = landing.entry.schemas
    results = side == OUTPUT and binding.root == "results"
    return types_at(schemas.results if results else schemas.parameters, binding.path)


def own_step(entry: WorkflowNode) -> Path:
    """The step from a task's input or output to what belongs to the node itself."""
    return (HOST,) if entry.middlewares else ()


def path_into(entry: WorkflowNode, way: tuple[WorkflowNode, ...], path: Path) -> Path:
    """Steps into a node's input: through the containers to the node meant, and on."""
    if not way:
        return (*own_step(entry), *path)
    return (*own_step(entry), f"#{way[0].id}", *path_into(way[0], way[1:], path))

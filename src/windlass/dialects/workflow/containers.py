"""Containers: nodes with a graph inside them, as `parameters.__container` describes it."""

from collections.abc import Iterator
from itertools import islice

from windlass.dialects.fields import Problems
from windlass.dialects.plain import is_object, under
from windlass.dialects.workflow.edges import read_wires
from windlass.dialects.workflow.fields import Exact
from windlass.dialects.workflow.retries import read_retry
from windlass.dialects.workflow.shape import Binding, Container, Loop, Source, WorkflowNode

KEY = "__container"
TYPE = "workflow.container"
CONTAINER_FIELDS = frozenset({"subgraphId", "timeoutSeconds", "loop", "retry"})
LOOP_FIELDS = frozenset({"enabled", "maxIterations", "condition", "carry"})
_WAYS_MAX = 64


def is_container(type_: str, role: str) -> bool:
    return type_ == TYPE or role == "container"


def read_container(parameters: dict[str, object], where: str, problems: Problems) -> Container:
    """What is said of the graph inside a container."""
    at = under(where, KEY)
    if not is_object(parameters.get(KEY)):
        hint = f'give parameters.{KEY} with the "subgraphId" of one of the subgraphs'
        problems.add(at, "the container does not say what is inside it", hint)
        return Container("", at)
    fields = Exact(parameters[KEY], at, CONTAINER_FIELDS, problems)
    subgraph = fields.needed("subgraphId", "name one of the workflow's subgraphs")
    seconds = fields.number("timeoutSeconds", 0.0, low=0, high=1e9)
    return Container(
        subgraph,
        at,
        timeout_ms=int(seconds * 1000),
        retry=read_retry(fields) if fields.has("retry") else None,
        loop=_read_loop(fields, problems),
    )


def _read_loop(fields: Exact, problems: Problems) -> Loop | None:
    loop = fields.within("loop", LOOP_FIELDS)
    iterations = loop.whole("maxIterations")
    carry = read_wires(loop.raw("carry"), loop.at("carry"), problems)
    if not loop.flag("enabled"):
        return None
    condition = loop.raw("condition") or None
    if not iterations and condition is None:
        hint = "give maxIterations, or a condition on what an iteration leaves"
        problems.add(loop.where, "the loop would never end", hint)
    return Loop(iterations, condition, loop.at("condition"), tuple(carry))


class Inner:
    """Finds nodes inside containers, however deep."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._within: dict[str, frozenset[str]] = {}

    def find(
        self, entry: WorkflowNode, binding: Binding, where: str, problems: Problems
    ) -> tuple[WorkflowNode, ...] | None:
        """The way from a container down to the node a binding names, that node last.

        Empty if the binding means the container itself; None, with a problem noted, if it leads
        nowhere or to several nodes.
        """
        if binding.node in ("", entry.id):
            return ()
        if entry.container is None:
            hint = "only the ports of a container reach other nodes: those inside it"
            problems.add(where, f'"#{binding.node:.60}" is not inside this node', hint)
            return None
        ways = list(islice(self._ways(entry, binding.node, frozenset()), _WAYS_MAX))
        fitting = [way for way in ways if self._fits((entry, *way[:-1]), binding.aliases)]
        if len(fitting) == 1:
            return fitting[0]
        if not fitting:
            reason = f'the container holds no node "{binding.node:.60}"'
            if ways:
                reason += f" under {'.'.join(binding.aliases)}"
            problems.add(where, reason, "name a node of its subgraph")
        else:
            reason = f'"#{binding.node:.60}" stands for {len(fitting)} nodes in this container'
            problems.add(where, reason, 'say which, as in "@<container>.<container>.#<node>"')
        return None

    def sink(self, entry: WorkflowNode) -> WorkflowNode | None:
        """The only node inside a container that nothing comes after, if there is only one."""
        subgraph = self._source.inside(entry)
        if subgraph is None:
            return None
        leaving = {wire.source.node for wire in subgraph.body.wires}
        sinks = [e for e in subgraph.body.entries.values() if e.id not in leaving]
        return sinks[0] if len(sinks) == 1 else None

    def _ways(
        self, entry: WorkflowNode, node: str, passed: frozenset[str]
    ) -> Iterator[tuple[WorkflowNode, ...]]:
        subgraph = self._source.inside(entry)
        if subgraph is None or subgraph.id in passed:
            return
        known = subgraph.body.entries.get(node)
        if known is not None:
            yield (known,)
        for inner in subgraph.body.entries.values():
            # Looking only where the node is keeps this from trying every way there is.
            if inner.container is not None and node in self._all_within(inner, passed):
                for way in self._ways(inner, node, passed | {subgraph.id}):
                    yield (inner, *way)

    def _all_within(self, entry: WorkflowNode, passed: frozenset[str]) -> frozenset[str]:
        """The ids of all nodes inside a container, at any depth."""
        subgraph = self._source.inside(entry)
        if subgraph is None or subgraph.id in passed:
            return frozenset()
        known = self._within.get(subgraph.id)
        if known is None:
            ids = set(subgraph.body.entries)
            for inner in subgraph.body.entries.values():
                ids |= self._all_within(inner, passed | {subgraph.id})
            known = self._within[subgraph.id] = frozenset(ids)
        return known

    def _fits(self, containers: tuple[WorkflowNode, ...], aliases: tuple[str, ...]) -> bool:
        """Whether aliases name some of the containers on a way, in their order."""
        names = iter([self._names(container) for container in containers])
        return all(any(alias in known for known in names) for alias in aliases)

    def _names(self, entry: WorkflowNode) -> set[str]:
        subgraph = self._source.inside(entry)
        own = {entry.id, entry.label}
        return own if subgraph is None else own | {subgraph.id, subgraph.label}

"""Checks of whole graphs: circles of nodes, and containers that are inside themselves."""

from collections.abc import Iterator, Mapping, Sequence

from windlass.dialects.flow.fields import Problems
from windlass.dialects.flow.plain import under
from windlass.dialects.workflow.shape import Body, Source

_SHOWN_MAX = 8


def check_cycles(body: Body, problems: Problems) -> None:
    """A node waits for all its edges, so nodes in a circle would wait for each other for ever."""
    onward: dict[str, list[str]] = {key: [] for key in body.entries}
    for wire in body.wires:
        if wire.source.node in onward and wire.target.node in onward:
            onward[wire.source.node].append(wire.target.node)
    for loop in loops(onward):
        first = body.entries[loop[0]]
        shown = _shown([body.entries[key].label for key in loop])
        hint = "remove an edge; to do something again, use a container that loops"
        problems.add(first.where, f"nodes wait for each other: {shown}", hint)


def check_containers(source: Source, problems: Problems) -> bool:
    """Whether every container has a graph inside it that does not hold the container itself."""
    sound = True
    onward: dict[str, list[str]] = {key: [] for key in source.subgraphs}
    bodies = [("", source.body), *((key, g.body) for key, g in source.subgraphs.items())]
    for owner, body in bodies:
        for entry in body.entries.values():
            container = entry.container
            if container is None or not container.subgraph:
                continue
            if container.subgraph not in source.subgraphs:
                sound = False
                where = under(container.where, "subgraphId")
                hint = problems.closest(container.subgraph, source.subgraphs)
                hint = hint or "add it to the workflow's subgraphs"
                problems.add(where, f'there is no subgraph "{container.subgraph:.60}"', hint)
            elif owner:
                onward[owner].append(container.subgraph)
    for loop in loops(onward):
        sound = False
        shown = _shown([source.subgraphs[key].label or key for key in loop])
        where = source.subgraphs[loop[0]].body.where
        hint = "give one of the containers another graph"
        problems.add(where, f"the subgraph is inside itself: {shown}", hint)
    return sound


def _shown(names: Sequence[str]) -> str:
    middle = names if len(names) <= _SHOWN_MAX else [*names[: _SHOWN_MAX - 1], "…"]
    return " → ".join(f"{name:.60}" for name in [*middle, names[0]])


def loops(onward: Mapping[str, Sequence[str]]) -> Iterator[list[str]]:
    """One loop for every node that one leads back to: depth-first, with a stack of its own."""
    done: set[str] = set()
    closed: set[str] = set()
    for first in onward:
        trail: dict[str, Iterator[str]] = {}
        if first not in done:
            trail[first] = iter(onward[first])
        while trail:
            key = next(reversed(trail))
            step = next(trail[key], None)
            if step is None:
                done.add(key)
                del trail[key]
            elif step in trail and step not in closed:
                closed.add(step)
                keys = list(trail)
                yield keys[keys.index(step) :]
            elif step not in done and step not in trail:
                trail[step] = iter(onward[step])

"""Checks of whole graphs: circles of nodes, and containers that are inside themselves."""

from windlass.dialects.circles import circles, shown
from windlass.dialects.fields import Problems
from windlass.dialects.plain import under
from windlass.dialects.workflow.shape import Body, Source


def check_cycles(body: Body, problems: Problems) -> None:
    """A node waits for all its edges, so nodes in a circle would wait for each other for ever."""
    onward: dict[str, list[str]] = {key: [] for key in body.entries}
    for wire in body.wires:
        if wire.source.node in onward and wire.target.node in onward:
            onward[wire.source.node].append(wire.target.node)
    for loop in circles(onward):
        first = body.entries[loop[0]]
        circle = shown([body.entries[key].label for key in loop])
        hint = "remove an edge; to do something again, use a container that loops"
        problems.add(first.where, f"nodes wait for each other: {circle}", hint)


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
    for loop in circles(onward):
        sound = False
        circle = shown([source.subgraphs[key].label or key for key in loop])
        where = source.subgraphs[loop[0]].body.where
        hint = "give one of the containers another graph"
        problems.add(where, f"the subgraph is inside itself: {circle}", hint)
    return sound

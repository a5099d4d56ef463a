"""What came of a task where nodes wait for all their edges: told by the edges, not by the order.

Such parts go on side by side, so what was made later need not have come of it.
"""

from collections.abc import Sequence

from windlass.kernel.redo import places_above
from windlass.model.graph import Graph
from windlass.model.ids import task_id
from windlass.model.rows import Task
from windlass.model.states import TaskState


def downstream(graph: Graph, tasks: Sequence[Task], task: Task) -> list[Task]:
    """The tasks that stand and came of a task, in the order they were made: what is inside it or
    was called for by it, what its edges lead to, and the same for each container around it."""
    by_id = {row.id: row for row in tasks}
    heads: set[str] = set()
    if graph.nodes[task.node].next:
        heads |= {t.id for t in tasks if t.scope == task.scope and graph.nodes[t.node].awaited}
    inner: Task | None = task
    while inner is not None:
        if inner.idx < 0:
            heads |= _led_to(graph, tasks, inner)
        inner = by_id.get(inner.scope)
    roots = {*heads, task.id}
    return [
        row
        for row in tasks
        if row.state is not TaskState.SUPERSEDED
        and (row.id in heads or any(place in roots for place in places_above(row.id)))
    ]


def _led_to(graph: Graph, tasks: Sequence[Task], task: Task) -> set[str]:
    """The tasks of its scope that a task's edges lead to.

    A node that every token visits may have been visited before as well: those visits stay.
    """
    reached = reachable(graph, task.node)
    return {
        row.id
        for row in tasks
        if row.scope == task.scope
        and row.node in reached
        and (row.node in graph.joins or row.step > task.step)
        and row.id != task.id
    }


def reachable(graph: Graph, path: str) -> set[str]:
    """The nodes some way leads to from a node; itself only if it is in a loop."""
    found: set[str] = set()
    ahead = [path]
    while ahead:
        for edge in graph.edges.get(ahead.pop(), ()):
            if edge.target is not None and edge.target not in found:
                found.add(edge.target)
                ahead.append(edge.target)
    return found


def is_called(graph: Graph, task: Task) -> bool:
    """Whether an attempt called for a task or a container around it: the next one calls anew."""
    return _called_at(graph, task.node) > 0


def first_caller(graph: Graph, tasks: Sequence[Task], task: Task) -> Task:
    """The task itself or, where an attempt called for it, the one that all calls began with."""
    depth = _called_at(graph, task.node)
    if not depth:
        return task
    scope = "~".join(task.id.split("~")[:depth])
    first = graph.starts["/".join(task.node.split("/")[: depth - 1])][0]
    wanted = task_id(scope, first, 0)
    return next(row for row in tasks if row.id == wanted)


def _called_at(graph: Graph, path: str) -> int:
    """How deep the outermost node around a path stands that is called for; 0 if there is none."""
    steps = path.split("/")
    for depth in range(1, len(steps) + 1):
        if graph.nodes["/".join(steps[:depth])].awaited:
            return depth
    return 0

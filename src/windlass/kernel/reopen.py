"""Doing what failed again where nodes wait for all their edges.

The parts of such a run go on side by side, so what failed took others with it. All of them are
opened again, each where it stood. Counts of edges stay as they are: an edge from something that did
not succeed has not fired, and fires once it does. What succeeded while the run was already being
cancelled led nowhere then; those edges are owed, and followed now.
"""

from collections import defaultdict
from collections.abc import Sequence

from windlass.kernel.redo import (
    find_task,
    places_above,
    reopen_around,
    reopen_container,
    revisit,
)
from windlass.kernel.routing import fired_edges
from windlass.kernel.turn import Turn, Visit
from windlass.model.errors import Conflict
from windlass.model.graph import Edge, Graph, Kind
from windlass.model.rows import Run, Task
from windlass.model.states import RUN_ENDED, RunState, TaskState

_UNDONE = (TaskState.FAILED, TaskState.CANCELLED)
_DONE = (TaskState.SUCCEEDED, TaskState.SKIPPED)


def reopen(turn: Turn, task_id: str | None, descendants: bool) -> Task:
    """Open an ended run where it failed; returns the task named, or the one that failed."""
    run = turn.run
    tasks = [turn.task(task.id) for task in turn.view.all_tasks(run.id)]
    task, _ = reopened(turn.graph, run, tasks, task_id, descendants=descendants)
    own = [row for row in tasks if not is_called(turn.graph, row)]
    open_again(turn, own)
    reopen_around(turn, task)
    follow_owed(turn, own)
    return task


def follow_owed(turn: Turn, tasks: Sequence[Task]) -> None:
    """Follow the edges of tasks that ended well when nobody followed edges any more.

    Edges arrive in the order their tasks end, so those a node has not counted are the newest.
    """
    by_place = {(task.scope, task.node): task for task in tasks}
    settled: defaultdict[tuple[str, str], list[tuple[int, Task, Edge]]] = defaultdict(list)
    for task in tasks:
        if task.state in _DONE and task.idx < 0:
            for edge in turn.graph.edges.get(task.node, ()):
                if edge.target in turn.graph.joins:
                    settled[task.scope, edge.target].append((task.ended_seq, task, edge))
    for place, arrivals in settled.items():
        known = by_place.get(place)
        counted = turn.graph.joins[place[1]] - known.edges_open if known is not None else 0
        arrivals.sort(key=lambda arrival: arrival[0])
        for _, source, edge in arrivals[counted:]:
            fired = source.state is TaskState.SUCCEEDED and edge in fired_edges(turn, source)
            turn.visits.append(Visit(place[0], place[1], fired))


def reopened(
    graph: Graph, run: Run, tasks: Sequence[Task], task_id: str | None, *, descendants: bool
) -> tuple[Task, list[Task]]:
    """The task named, or the one that failed, and all that would be opened with it."""
    if descendants:
        text = "a graph whose nodes wait for all their edges cannot be redone in part yet"
        raise Conflict(f"{text}; retry what failed, or start a new run")
    if run.state not in RUN_ENDED:
        wait = "once it is cancelled" if run.state is RunState.CANCELLING else "once it has ended"
        raise Conflict(f"run {run.id} is {run.state}; retry it {wait}")
    own = [task for task in tasks if not is_called(graph, task)]
    task = find_task(own, task_id, run.id)
    if task.state not in _UNDONE:
        raise Conflict(f"task {task.id} is {task.state}, not failed; there is nothing to retry")
    around = {place for place in places_above(task.id) if place != run.id}
    return task, [row for row in own if row.state in _UNDONE or row.id in around]


def is_called(graph: Graph, task: Task) -> bool:
    """Whether an attempt called for a task or a container around it: the next one calls anew."""
    path = task.node
    while path:
        if graph.nodes[path].awaited:
            return True
        path = path.rpartition("/")[0]
    return False


def open_again(turn: Turn, tasks: Sequence[Task]) -> None:
    """Open every task that failed or was cancelled; containers come before what is in them."""
    for task in tasks:
        if task.state not in _UNDONE:
            continue
        if task.edges_open:
            wait_again(turn, task)
        elif task.kind == Kind.SUBFLOW:
            reopen_container(turn, task)
        elif task.queue is None:
            raise Conflict(f"task {task.id} could not begin, and would fail again: {task.error}")
        else:
            revisit(turn, task)


def wait_again(turn: Turn, task: Task) -> None:
    turn.move(
        task,
        TaskState.PENDING,
        generation=task.generation + 1,
        finished_at=None,
        ended_seq=0,
    )
    turn.count_scope(task.scope, open=1)

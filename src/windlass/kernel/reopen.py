"""Doing what failed again where nodes wait for all their edges.

The parts of such a run go on side by side, so what failed took others with it. All of them are
opened again, each where it stood. Counts of edges stay as they are: an edge from something that did
not succeed has not fired, and fires once it does.
"""

from collections.abc import Sequence

from windlass.kernel.redo import (
    find_task,
    places_above,
    reopen_around,
    reopen_container,
    revisit,
)
from windlass.kernel.turn import Turn
from windlass.model.errors import Conflict
from windlass.model.graph import Graph, Kind
from windlass.model.rows import Run, Task
from windlass.model.states import RUN_ENDED, RunState, TaskState

_UNDONE = (TaskState.FAILED, TaskState.CANCELLED)


def reopen(turn: Turn, task_id: str | None, descendants: bool) -> Task:
    """Open an ended run where it failed; returns the task named, or the one that failed."""
    run = turn.run
    tasks = [turn.task(task.id) for task in turn.view.all_tasks(run.id)]
    task, _ = reopened(turn.graph, run, tasks, task_id, descendants=descendants)
    open_again(turn, [row for row in tasks if not is_called(turn.graph, row)])
    reopen_around(turn, task)
    return task


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

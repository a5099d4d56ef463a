"""Doing again where nodes wait for all their edges: what failed, or a task and what came of it.

The parts of such a run go on side by side. What failed took others with it: all of them are opened
again, each where it stood. *Retry from* a task also lets everything that came of it count no longer
(see `superseded`); what ended well beside it is kept. Then edges are counted anew, so that a join
waits for just what is redone and begins again with that and what was kept.
"""

from collections.abc import Sequence

from windlass.kernel.downstream import downstream, first_caller, is_called
from windlass.kernel.planning.settings import visited_seq
from windlass.kernel.recount import recount
from windlass.kernel.redo import (
    find_task,
    let_go,
    places_above,
    reopen_around,
    reopen_container,
    restore_variables,
    revisit,
    scope_is_open,
)
from windlass.kernel.routing import end_scope, is_settled, join, release_next
from windlass.kernel.superseded import mark_superseded
from windlass.kernel.turn import WANTED, Replan, Turn, Visit
from windlass.kernel.values import parse
from windlass.model.errors import Conflict
from windlass.model.graph import CONTAINERS, SCOPES, Graph, Kind
from windlass.model.rows import Run, Task, Variable
from windlass.model.states import RUN_ENDED, TASK_ENDED, RunState, TaskState

_UNDONE = (TaskState.FAILED, TaskState.CANCELLED)
_FAN_OUTS = (Kind.PARALLEL, Kind.FOREACH)


def reopen(turn: Turn, task_id: str | None, descendants: bool) -> Task:
    """Open a run at a task, or where it failed; returns the task that is done again."""
    run = turn.run
    tasks = [turn.task(task.id) for task in turn.view.all_tasks(run.id)]
    if descendants:
        task, later = redone_from(turn.graph, run, tasks, task_id)
        for row in later:
            mark_superseded(turn, row)
        if run.state not in RUN_ENDED:
            turn.set_run(generation=run.generation + 1)
    else:
        task, _ = reopened(turn.graph, run, tasks, task_id)
    reopen_around(turn, task)
    own = [row for row in tasks if not is_called(turn.graph, row)]
    open_again(turn, [row for row in own if not descendants or row.id != task.id])
    if descendants:
        begin_again(turn, task)
        restore_variables(turn, [turn.task(row.id) for row in tasks], task, set())
    recount(turn, own)
    go_on_inside(turn, own)
    return task


def redone_from(
    graph: Graph, run: Run, tasks: Sequence[Task], task_id: str | None
) -> tuple[Task, list[Task]]:
    """The task to redo, and what is superseded with it: itself too, unless it is only called again.

    What an attempt called for cannot be had without its caller, so that is redone instead.
    """
    if run.state is RunState.CANCELLING:
        raise Conflict(f"run {run.id} is being cancelled; retry it once it is cancelled")
    task = first_caller(graph, tasks, find_task(tasks, task_id, run.id))
    if task.state is TaskState.PENDING or task.edges_open:
        raise Conflict(f"task {task.id} has not begun; there is nothing to do again")
    check_inside_stands(tasks, task)
    later = downstream(graph, tasks, task)
    return task, later if is_called_again(task) else [task, *later]


def check_inside_stands(tasks: Sequence[Task], task: Task) -> None:
    """The inside of a plan's node is that of its newest visit: what an earlier one had planned is
    part of the record, and no graph that anything could go on in."""
    above = set(places_above(task.id))
    for plan in (row for row in tasks if row.id in above and row.kind == Kind.PLAN):
        last = visited_seq(plan)
        if any(row.node == plan.node and visited_seq(row) > last for row in tasks):
            text = f"{plan.node} was visited and planned again after {plan.id}"
            raise Conflict(f"{text}; retry from the plan itself: {plan.id}")


def is_called_again(task: Task) -> bool:
    """Whether doing a task again is calling again, with the input it had."""
    return task.kind == Kind.CALL and task.queue is not None


def reopened(
    graph: Graph, run: Run, tasks: Sequence[Task], task_id: str | None
) -> tuple[Task, list[Task]]:
    """The task named, or the one that failed, and all that would be opened with it."""
    if run.state not in RUN_ENDED:
        wait = "once it is cancelled" if run.state is RunState.CANCELLING else "once it has ended"
        raise Conflict(f"run {run.id} is {run.state}; retry it {wait}")
    own = [task for task in tasks if not is_called(graph, task)]
    task = find_task(own, task_id, run.id)
    if task.state not in _UNDONE:
        raise Conflict(f"task {task.id} is {task.state}, not failed; there is nothing to retry")
    if is_settled(graph, task):
        text = f"the run went on after {task.id} was {task.state}"
        raise Conflict(f"{text}; retry from it, with what came after it")
    check_inside_stands(tasks, task)
    around = {place for place in places_above(task.id) if place != run.id}
    for row in own:
        if row.id in around and is_settled(graph, row):
            text = f"the run went on after {row.id}, which {task.id} is in, was {row.state}"
            raise Conflict(f"{text}; retry from it, with what came after it")
    return task, [row for row in own if is_undone(graph, row) or row.id in around]


def is_undone(graph: Graph, task: Task) -> bool:
    """Whether a task ended without a result that anything could go on from."""
    return task.state in _UNDONE and not is_settled(graph, task)


def open_again(turn: Turn, tasks: Sequence[Task]) -> None:
    """Open every task that failed or was cancelled; containers come before what is in them."""
    for row in tasks:
        task = turn.task(row.id)
        if not is_undone(turn.graph, task) or not is_wanted(turn, task):
            continue
        if task.edges_open:
            wait_again(turn, task)
        elif task.kind in CONTAINERS and (task.made or task.kind == Kind.SUBFLOW):
            reopen_container(turn, task)
            plan_again(turn, task)
        elif is_called_again(task):
            revisit(turn, task)
        elif task.kind == Kind.CALL or task.kind in _FAN_OUTS:
            raise Conflict(f"task {task.id} could not begin, and would fail again: {task.error}")
        else:
            mark_superseded(turn, task)
            begin_again(turn, task)


def plan_again(turn: Turn, task: Task) -> None:
    """What a plan was to be made anew for still stands."""
    row = turn.get(Variable, (task.id, WANTED)) if task.kind == Kind.PLAN else None
    if row is not None:
        why = parse(row.value)
        turn.replans.append(Replan(task.id, why["reason"], why["source_task_id"], why["hint"]))


def is_wanted(turn: Turn, task: Task) -> bool:
    """Whether anybody still waits for a task: its scope is open. A branch that failed is a result
    like others, unless its fan-out failed because of it and is open again."""
    if not scope_is_open(turn, task):
        return False
    if task.idx < 0 or task.scope == task.run_id:
        return True
    before = turn.view.get(Task, task.scope)
    return before is not None and before.state in _UNDONE


def wait_again(turn: Turn, task: Task) -> None:
    turn.move(
        task,
        TaskState.PENDING,
        generation=task.generation + 1,
        finished_at=None,
        ended_seq=0,
    )
    turn.count_scope(task.scope, open=1)


def begin_again(turn: Turn, task: Task) -> None:
    """Do one task again. Counting edges anew has those begin that wait for all of theirs."""
    if is_called_again(task):
        revisit(turn, turn.task(task.id))
    elif task.node not in turn.graph.joins:
        turn.visits.append(Visit(task.scope, task.node))


def go_on_inside(turn: Turn, tasks: Sequence[Task]) -> None:
    """Containers that were opened again go on: branches that wait are let go while there is room,
    and where all is done already the container comes to its end."""
    for row in reversed(tasks):
        task = turn.task(row.id)
        if row.kind not in CONTAINERS or row.state not in TASK_ENDED:
            continue
        if task.state is not TaskState.RUNNING:
            continue
        if task.kind in _FAN_OUTS:
            let_go(turn, task)
            task = turn.task(task.id)
        if task.open or any(visit.scope == task.id for visit in turn.visits):
            continue
        if task.kind in SCOPES:
            if not any(replan.container == task.id for replan in turn.replans):
                end_scope(turn, task)
        elif task.made == task.total:
            join(turn, task)
        else:
            release_next(turn, task, turn.node(task))

"""Counters must equal the rows they stand for."""

from windlass.model.graph import SCOPES, Kind
from windlass.model.rows import Task
from windlass.model.states import TASK_ENDED, RunState, TaskState
from windlass.testing.simulator.checks.fold import Folded
from windlass.testing.simulator.checks.rows import RunRows, expect

_ACTIVE = (TaskState.QUEUED, TaskState.RUNNING, TaskState.VERIFYING)
_FAN_OUTS = (Kind.PARALLEL, Kind.FOREACH)


def check_counters(rows: RunRows, told: Folded) -> None:
    run = rows.run
    top = rows.children[run.id]
    active = sum(is_active(task) for task in rows.tasks.values())
    equal(f"run {run.id}", "made", run.made, len(counted(rows, top)))
    equal(f"run {run.id}", "open", run.open, len(open_among(top)))
    equal(f"run {run.id}", "active", run.active, active)
    equal(f"run {run.id}", "failures", run.failures, told.failures)
    for task in rows.tasks.values():
        if task.kind in _FAN_OUTS:
            check_fan_out(rows, task)
        elif task.kind in SCOPES:
            equal(task.id, "made", task.made, len(counted(rows, rows.children[task.id])))
            equal(task.id, "open", task.open, len(open_among(rows.children[task.id])))


def is_active(task: Task) -> bool:
    wanted = task.kind == Kind.CALL or (task.kind == Kind.PLAN and task.queue is not None)
    return wanted and task.state in _ACTIVE


def check_fan_out(rows: RunRows, task: Task) -> None:
    branches = counted(rows, rows.children[task.id])
    equal(task.id, "made", task.made, len(branches))
    equal(task.id, "open", task.open, len(open_among(branches)))
    expect(task.made <= task.total, f"{task.id} made {task.made} of {task.total} branches")
    indexes = sorted(branch.idx for branch in branches)
    expect(indexes == list(range(task.made)), f"{task.id} has the branches {indexes}")
    if task.state is TaskState.SUPERSEDED:
        return
    failed = sum(branch.state is TaskState.FAILED for branch in branches)
    equal(task.id, "failed", task.failed, failed)
    if task.state not in TASK_ENDED:
        check_released(rows, task)


def counted(rows: RunRows, tasks: list[Task]) -> list[Task]:
    """Tasks that a scope's count of those made stands for. With joins a superseded one is not
    counted, as it is taken up again when its node is; elsewhere a new one is made beside it."""
    if not rows.graph.counts_edges:
        return tasks
    return [task for task in tasks if task.state is not TaskState.SUPERSEDED]


def check_released(rows: RunRows, task: Task) -> None:
    """Branches are let go in order: the first ones have had their turn, the others wait."""
    waiting = [TaskState.PENDING]
    if rows.run.state is RunState.CANCELLING:
        waiting.append(TaskState.CANCELLED)
    for branch in rows.children[task.id]:
        if branch.idx >= task.made and branch.state is TaskState.SUPERSEDED:
            continue  # Of an earlier visit, and not made again yet.
        if branch.idx < task.released:
            good = branch.state is not TaskState.PENDING
        else:
            good = branch.state in waiting
        expect(good, f"{task.id} has released {task.released}, {branch.id} is {branch.state}")


def open_among(tasks: list[Task]) -> list[Task]:
    return [task for task in tasks if task.state not in TASK_ENDED]


def equal(where: str, name: str, counted: int, found: int) -> None:
    expect(counted == found, f"{where} counts {name}={counted}, the rows say {found}")

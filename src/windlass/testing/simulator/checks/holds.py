"""Every open task has exactly what will move it; every ended one holds nothing any more."""

from windlass.kernel.checkpoints import is_held_back
from windlass.kernel.envs import is_allocating
from windlass.model.graph import CONTAINERS, Kind
from windlass.model.questions import read_question
from windlass.model.quotas import is_queued
from windlass.model.rows import Attempt, Task, Timer, read_failure
from windlass.model.states import (
    ATTEMPT_LIVE,
    RUN_ENDED,
    TASK_ENDED,
    AttemptState,
    CheckpointState,
    RunState,
    TaskState,
)
from windlass.testing.simulator.checks.counters import open_among
from windlass.testing.simulator.checks.fold import Folded
from windlass.testing.simulator.checks.rows import RunRows, expect


def check_holds(rows: RunRows, told: Folded) -> None:
    run = rows.run
    if run.state in RUN_ENDED:
        check_ended(rows)
    else:
        moving = open_among(rows.children[run.id]) or f"{run.id}!cancel" in rows.timers
        moved = bool(moving) or is_queued(run)
        expect(moved, f"run {run.id} is {run.state} and nothing will move it")
    for task in rows.tasks.values():
        check_attempts(rows, task)
        if task.state not in TASK_ENDED:
            check_mover(rows, task)
            node = rows.node(task)
            plain = node.verification is None and node.planned is None and not node.env
            if task.kind == Kind.CALL and not told.redone and plain:
                check_tries(rows, task)
    check_barriers(rows)
    for timer in rows.timers.values():
        check_timer(rows, timer)
    for checkpoint in rows.checkpoints.values():
        if checkpoint.state is CheckpointState.OPEN:
            task = rows.tasks[checkpoint.task_id]
            expect(
                task.state is TaskState.WAITING,
                f"checkpoint {checkpoint.id} is open, its task {task.state}",
            )


def check_ended(rows: RunRows) -> None:
    run = rows.run
    still_open = [task.id for task in open_among(list(rows.tasks.values()))]
    expect(not still_open, f"run {run.id} is {run.state} with open tasks {still_open}")
    expect(not rows.timers, f"run {run.id} is {run.state} with timers {list(rows.timers)}")


def check_attempts(rows: RunRows, task: Task) -> None:
    """Numbers without a gap, at most one live, and that one holds its task."""
    attempts = sorted(rows.attempts[task.id], key=lambda attempt: attempt.number)
    numbers = [attempt.number for attempt in attempts]
    expect(
        numbers == list(range(1, task.attempts + 1)),
        f"{task.id} counts {task.attempts} attempts, it has {numbers}",
    )
    live = [attempt for attempt in attempts if attempt.state in ATTEMPT_LIVE]
    running = task.kind == Kind.CALL and task.state is TaskState.RUNNING
    running |= task.kind == Kind.PLAN and task.state is TaskState.RUNNING and bool(task.queue)
    running |= task.state is TaskState.VERIFYING and task.queue is None and task.due_at is None
    held = [attempt.number for attempt in live]
    wanted = [task.attempts] if running else []
    expect(held == wanted, f"{task.id} is {task.state}, its live attempts are {held}")
    if task.kind == Kind.PLAN and task.state in TASK_ENDED:
        expect(task.queue is None, f"{task.id} is {task.state}, and its planner is asked")
    if task.kind == Kind.CALL and task.state is TaskState.SUCCEEDED:
        last = attempts[-1].state if attempts else None
        expect(
            last is AttemptState.SUCCEEDED,
            f"{task.id} has succeeded, its newest attempt is {last}",
        )


def check_tries(rows: RunRows, task: Task) -> None:
    """Failures and moves of an open task equal its attempts, unless it was asked to begin anew."""
    kinds = [kind_of(attempt) for attempt in rows.attempts[task.id]]
    failed = sum(kind in ("failed", "fatal", "timeout") for kind in kinds)
    moved = sum(kind in ("lost", "cancelled", "unreachable") for kind in kinds)
    counted = (task.failures, task.moves)
    expect(counted == (failed, moved), f"{task.id} counts {counted}, it has {(failed, moved)}")


def kind_of(attempt: Attempt) -> str:
    """Why an attempt has no result; what nobody began counts as nothing, and nor does a service
    that has pushed back."""
    failure = read_failure(attempt.error)
    if failure is None or (failure.kind == "failed" and failure.retry_after_ms):
        return ""
    return failure.kind


def check_mover(rows: RunRows, task: Task) -> None:
    """Something will move an open task: a queue, a lease, a timer, a child, or the outside."""
    state, kind, run = task.state, task.kind, rows.run
    cancelling = run.state is RunState.CANCELLING
    if state is TaskState.PENDING and task.node in rows.graph.joins:
        others = [t for t in open_among(rows.children[task.scope]) if t.state is not state]
        moved = bool(others) or waits_for_plan(rows, task.scope)
    elif kind == Kind.PLAN and task.queue is not None:
        moved = check_planning(rows, task, cancelling=cancelling)
    elif kind in CONTAINERS:
        inside = open_among(rows.children[task.id])
        moved = bool(inside) or f"{task.id}!expand" in rows.timers
        if kind == Kind.SUBFLOW and rows.node(task).timeout_ms and not cancelling:
            expect(f"{task.id}!timeout" in rows.timers, f"{task.id} has lost its timeout")
    elif state is TaskState.PENDING:
        container = rows.tasks[task.scope]
        others = [t for t in open_among(rows.children[container.id]) if t.state is not state]
        moved = task.idx >= 0 and bool(others)
    elif state is TaskState.VERIFYING:
        moved = check_judged(rows, task, cancelling=cancelling)
    elif state is TaskState.QUEUED:
        moved = task.queue is not None and task.ready_at is not None
    elif state is TaskState.RUNNING:
        moved = not cancelling or f"{run.id}!cancel" in rows.timers
        if rows.node(task).timeout_ms:
            expect(f"{task.id}!timeout" in rows.timers, f"{task.id} has lost its timeout")
    else:
        moved = check_waiting(rows, task)
    expect(moved, f"{task.id} is {state} and nothing will move it")


def waits_for_plan(rows: RunRows, scope: str) -> bool:
    """Whether the scope is a plan that is being made anew: its tasks wait for what that says."""
    container = rows.tasks.get(scope)
    return container is not None and container.kind == Kind.PLAN and container.queue is not None


def check_planning(rows: RunRows, task: Task, *, cancelling: bool) -> bool:
    """A plan waits for a planner, is with one, or waits to ask again."""
    if is_held_back(task):
        return check_held_back(rows, task)
    if task.state is TaskState.WAITING:
        timer = rows.timers.get(f"{task.id}!retry")
        return timer is not None and timer.due_at == task.due_at
    if task.state is TaskState.RUNNING:
        return not cancelling or f"{rows.run.id}!cancel" in rows.timers
    return task.ready_at is not None


def check_judged(rows: RunRows, task: Task, *, cancelling: bool) -> bool:
    """A claim waits for its verdict in a queue, with a verifier, or until it is asked for again."""
    rule = rows.node(task).verification
    expect(rule is not None and task.claim > 0, f"{task.id} is verified, and claims nothing")
    assert rule is not None
    if task.queue is not None:
        return task.ready_at is not None and task.queue.endswith(f":{rule.target.service}")
    if task.due_at is not None:
        timer = rows.timers.get(f"{task.id}!retry")
        return timer is not None and timer.due_at == task.due_at
    if rule.timeout_ms:
        expect(f"{task.id}!timeout" in rows.timers, f"{task.id} has lost its timeout")
    return not cancelling or f"{rows.run.id}!cancel" in rows.timers


def check_held_back(rows: RunRows, task: Task) -> bool:
    """What is held back is let go with the last barrier, and holds nothing meanwhile."""
    return rows.run.barriers > 0 and task.queue is not None and task.due_at is None


def check_barriers(rows: RunRows) -> None:
    """A run counts its open barriers, and hands nothing out behind them."""
    asked = [
        row.id
        for row in rows.checkpoints.values()
        if row.state is CheckpointState.OPEN and read_question(row.details).blocks_run
    ]
    count = rows.run.barriers
    expect(count == len(asked), f"run {rows.run.id} counts {count} barriers, there are {asked}")
    for task in rows.tasks.values() if count else ():
        expect(not task.claimable, f"{task.id} may be claimed behind {asked}")
        held = [a.id for a in rows.attempts[task.id] if a.state in ATTEMPT_LIVE]
        expect(not held, f"{held} goes on behind {asked}")


def check_waiting(rows: RunRows, task: Task) -> bool:
    kinds = {Kind.CALL: "retry", Kind.TIMER: "delay"}
    wanted = kinds.get(Kind(task.kind), "timeout")
    timer = rows.timers.get(f"{task.id}!{wanted}")
    if is_held_back(task):
        return check_held_back(rows, task)
    if task.parked is not None:
        return task.kind == Kind.CALL and task.queue is not None and timer is None
    if is_allocating(task):
        return timer is None
    if task.kind == Kind.CALL and task.wait_key is not None:
        asked = rows.checkpoints.get(task.wait_key)
        return asked is not None and asked.state is CheckpointState.OPEN and timer is None
    due_at = timer.due_at if timer is not None else None
    expect(task.due_at == due_at, f"{task.id} is due at {task.due_at}, its timer at {due_at}")
    if wanted != "timeout":
        return timer is not None
    if task.kind == Kind.APPROVAL:
        checkpoint = rows.checkpoints.get(f"{task.id}!{task.generation}")
        return checkpoint is not None and checkpoint.state is CheckpointState.OPEN
    return task.wait_key is not None or timer is not None


_WITH_TIMER = {
    "retry": (TaskState.WAITING, TaskState.VERIFYING),
    "delay": (TaskState.WAITING,),
    "expand": (TaskState.RUNNING,),
    "env": (TaskState.QUEUED, TaskState.WAITING),
    "unpin": (TaskState.QUEUED, TaskState.WAITING),
    "timeout": (TaskState.RUNNING, TaskState.VERIFYING, TaskState.WAITING),
}


def check_timer(rows: RunRows, timer: Timer) -> None:
    """A timer belongs to something that still waits for it."""
    if timer.kind == "cancel":
        expect(
            rows.run.state is RunState.CANCELLING,
            f"run {rows.run.id} is {rows.run.state} with a cancel timer",
        )
        return
    task = rows.tasks[timer.task_id]
    good = task.state in _WITH_TIMER[timer.kind]
    if timer.kind == "timeout" and task.kind == Kind.CALL:
        good = task.state in (TaskState.RUNNING, TaskState.VERIFYING)
    if timer.kind == "timeout" and task.kind == Kind.PLAN:
        good = any(attempt.state in ATTEMPT_LIVE for attempt in rows.attempts[task.id])
    expect(good, f"{task.id} is {task.state} with a {timer.kind} timer")

"""Ending everything below a scope at once: after a failure, a time-out, a redo."""

from msgspec.structs import replace

from windlass.kernel.checkpoints import checkpoint_of, count_barrier
from windlass.kernel.leases import is_held
from windlass.kernel.placement import queue_of
from windlass.kernel.turn import Turn
from windlass.model.graph import Kind
from windlass.model.ids import attempt_id, called_prefix
from windlass.model.rows import Attempt, Failure, Task
from windlass.model.states import ATTEMPT_LIVE, AttemptState, CheckpointState, TaskState


def cancel_below(turn: Turn, scope: str) -> None:
    """Cancel every open task below a scope, fencing off attempts that still run.

    The workers learn at their next heartbeat; what they send later is refused as stale.
    """
    for task in turn.open_tasks(scope):
        end_task(turn, task, TaskState.CANCELLED)
    if scope == turn.run_id:
        turn.set_run(open=0)
    else:
        container = turn.task(scope)
        turn.move(container, container.state, open=0)


def end_task(turn: Turn, task: Task, state: TaskState) -> None:
    """End one open task from outside, with whatever it holds; counters are the caller's."""
    drop_holds(turn, task)
    columns = {"open": 0} if task.open else {}
    turn.move(turn.task(task.id), state, **columns)


def drop_holds(turn: Turn, task: Task) -> None:
    """Take away a task's live attempt, its timers and its open checkpoint."""
    if is_held(task):
        fence_attempt(turn, task)
    for kind in timer_kinds(task):
        turn.drop_timer(task.id, kind)
    if turn.node(task).affinity is not None:
        turn.drop_timer(task.id, "unpin")
    if task.kind == Kind.APPROVAL or (task.kind == Kind.CALL and task.wait_key):
        close_checkpoint(turn, task, CheckpointState.CANCELLED)
        if task.parked:
            turn.raised.append((task.parked, 0))
    if task.kind == Kind.PLAN:
        turn.move(task, task.state, queue=None)
    elif task.state is TaskState.VERIFYING:
        # Where its own work waits, should it be done again.
        target = turn.node(task).target
        turn.move(task, task.state, queue=queue_of(turn, target) if target is not None else None)


def release_called(turn: Turn, task: Task, attempt: str) -> None:
    """Cancel what an attempt called for and does not wait for any more, now that it has ended."""
    prefix = called_prefix(task.scope, turn.node(task).next, attempt)
    for called in turn.open_tasks(task.scope):
        if called.id.startswith(prefix):
            end_task(turn, called, TaskState.CANCELLED)
            if called.scope != task.scope:
                continue
            turn.count_scope(task.scope, open=-1)
            if turn.node(called).next and called.attempts:
                release_called(turn, called, attempt_id(called.id, called.attempts))


def timer_kinds(task: Task) -> tuple[str, ...]:
    """The timers a task of this kind may have set."""
    match task.kind:
        case Kind.CALL:
            return ("retry", "timeout")
        case Kind.TIMER:
            return ("delay", "timeout")
        case Kind.PLAN:
            return ("retry", "timeout")
        case Kind.PARALLEL | Kind.FOREACH:
            return ("expand",)
        case _:
            return ("timeout",)


def fence_attempt(turn: Turn, task: Task) -> None:
    attempt = turn.get(Attempt, attempt_id(task.id, task.attempts))
    if attempt is not None and attempt.state in ATTEMPT_LIVE:
        failure = Failure("cancelled", "the task was cancelled")
        turn.move_attempt(attempt, state=AttemptState.CANCELLED, error=failure.json())


def close_checkpoint(
    turn: Turn, task: Task, state: CheckpointState, **answer: str | int | None
) -> None:
    """Close a task's checkpoint if it is open."""
    checkpoint = checkpoint_of(turn, task)
    if checkpoint is not None and checkpoint.state is CheckpointState.OPEN:
        turn.change(replace(checkpoint, state=state, answered_at=turn.now, **answer))
        count_barrier(turn, checkpoint, -1)
        turn.note(checkpoint=checkpoint.id, state=str(state))

"""Cancelling a run: what waits ends now, what runs is asked to stop and given a moment."""

from windlass.kernel.ending import end_run
from windlass.kernel.leases import is_held
from windlass.kernel.nodes import plan
from windlass.kernel.routing import close
from windlass.kernel.scopes import cancel_below, drop_holds
from windlass.kernel.turn import Turn
from windlass.model.graph import CONTAINERS, Kind
from windlass.model.ids import attempt_id
from windlass.model.rows import Attempt, Failure, Task
from windlass.model.states import ATTEMPT_LIVE, RUN_ENDED, RunState, TaskState


def cancel_run(turn: Turn) -> None:
    turn.set_run(state=RunState.CANCELLING)
    still_running = False
    open_tasks = turn.open_tasks(turn.run_id)
    for task in open_tasks:
        if task.kind == Kind.PLAN:
            if plan.cancel(turn, task):
                ask_to_stop(turn, task)
                still_running = True
        elif task.kind in CONTAINERS and task.state is not TaskState.PENDING:
            # It closes with the last of its children; no more of them are made.
            turn.drop_timer(task.id, "expand")
            turn.drop_timer(task.id, "timeout")
        elif is_held(task):
            ask_to_stop(turn, task)
            still_running = True
        else:
            drop_holds(turn, task)
            close(turn, turn.move(turn.task(task.id), TaskState.CANCELLED))
    if still_running:
        turn.set_timer(turn.run_id, "cancel", turn.now + turn.limits.cancel_grace_ms)
    elif turn.run.state not in RUN_ENDED:
        # Nothing was open: the run was caught between two steps, which only a redo can cause.
        cancel_forced(turn)


def ask_to_stop(turn: Turn, task: Task) -> None:
    attempt = turn.get(Attempt, attempt_id(task.id, task.attempts))
    if attempt is not None and attempt.state in ATTEMPT_LIVE and attempt.cancel_at is None:
        turn.move_attempt(attempt, cancel_at=turn.now)
        turn.note(attempt=attempt.id, cancel_requested=True)


def cancel_forced(turn: Turn) -> None:
    """The moment is over: end the run without waiting for its attempts any longer."""
    cancel_below(turn, turn.run_id)
    end_run(turn, RunState.CANCELLED)


def break_run(turn: Turn, failure: Failure) -> None:
    """End a run that cannot go on, without reading a single value of it."""
    turn.drop_timer(turn.run_id, "cancel")
    if turn.cancelling:
        cancel_forced(turn)
        return
    cancel_below(turn, turn.run_id)
    end_run(turn, RunState.FAILED, error=failure.json())

"""A cancelled run ends within its grace, whether or not the holders of its attempts answer."""

from windlass.dialects.flow import compile_flow
from windlass.kernel.events import CancelRequested, TimerFired
from windlass.model.rows import Attempt, Timer
from windlass.model.states import AttemptState, RunState
from windlass.testing.played import RUN_ID, Played


def test_a_holder_that_never_answers_does_not_keep_a_run_from_ending() -> None:
    node = {"exec_type": "queue", "service": "s"}
    run = Played(compile_flow({"start": "a", "nodes": {"a": node}}))
    (task,) = run.queued()
    held = run.claim(task.id, "silent")
    run.send(CancelRequested(RUN_ID, ""))
    assert run.state() is RunState.CANCELLING
    [timer] = run.tables[Timer].values()
    assert isinstance(timer, Timer)
    assert timer.due_at - run.now == run.limits.cancel_grace_ms
    run.now = timer.due_at
    run.send(TimerFired(timer.id, RUN_ID))
    assert run.state() is RunState.CANCELLED
    attempt = run.tables[Attempt][held.attempt_id]
    assert isinstance(attempt, Attempt)
    assert attempt.state is AttemptState.CANCELLED

"""A planner or a verifier that is busy and says when to come back has not failed."""

from tests.plans import claim, do, of, planned, played, say, task
from windlass.kernel.events import AttemptFailed, TimerFired
from windlass.model.rows import Failure
from windlass.testing.played import RUN_ID, Played

BUSY = Failure("failed", "the model is busy", retry_after_ms=2_000)


def wait(run: Played, task_id: str) -> None:
    run.now += 2_000
    run.send(TimerFired(f"{task_id}!retry", RUN_ID))


def test_a_busy_planner_spends_none_of_its_tries() -> None:
    run = played()
    plan = run.one("plan")
    for _ in range(5):
        run.send(AttemptFailed(claim(run).attempt_id, BUSY))
        assert run.one("plan").due_at == run.now + 2_000
        wait(run, plan.id)
    say(run, claim(run), {"tasks": [task("a")]})
    assert of(run, "a").state == "queued"
    assert run.one("plan").failures == 0


def test_a_busy_verifier_spends_none_of_its_tries() -> None:
    run = planned(task("a", verification_policy={"verifier_profile": "judge"}))
    do(run, "a", {"n": 1})
    for _ in range(7):
        run.send(AttemptFailed(claim(run, "a").attempt_id, BUSY))
        assert of(run, "a").state == "verifying"
        wait(run, of(run, "a").id)
    for number in range(4):
        run.send(AttemptFailed(claim(run, "a").attempt_id, Failure("failed", f"no {number}")))
        assert of(run, "a").state == "verifying"
        if of(run, "a").due_at is not None:
            run.now += 20_000
            run.send(TimerFired(f"{of(run, 'a').id}!retry", RUN_ID))
    do(run, "a", {"verdict": "accepted"})
    assert of(run, "a").state == "succeeded"

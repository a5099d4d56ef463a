"""Questions that hold back the whole run, and how everything goes on after them."""

import pytest

from tests.plans import ask, claim, do, of, open_states, planned, question, say, task
from windlass.kernel.events import (
    CancelRequested,
    CheckpointAnswered,
    QuestionAsked,
    RetryRequested,
    TimerFired,
)
from windlass.model.errors import StaleLease
from windlass.model.questions import Question, Request
from windlass.model.rows import Attempt, Checkpoint
from windlass.model.states import ATTEMPT_LIVE, RunState
from windlass.testing.played import RUN_ID, Played

JUDGED = {"verifier_profile": "judge", "on_reject": "retry"}
BLOCKS = {"status": "waiting", "checkpoint": {"question": "Which?", "blocks_run": True}}


def answer(run: Played, checkpoint: str, text: str = "yes") -> None:
    run.send(CheckpointAnswered(RUN_ID, checkpoint, text, by="bo"))


def live(run: Played) -> list[str]:
    rows = [row for row in run.tables[Attempt].values() if isinstance(row, Attempt)]
    return [row.id for row in rows if row.state in ATTEMPT_LIVE]


def test_a_barrier_takes_everything_out_of_reach_and_gives_it_back() -> None:
    policy = {"verification_policy": JUDGED}
    run = planned(task("a"), task("b"), task("c"), task("d", **policy), task("e", **policy))
    running = claim(run, "b")
    do(run, "d", 1)
    do(run, "e", 1)
    judging = run.claim(of(run, "e").id)
    do(run, "a", BLOCKS)
    assert live(run) == []
    assert not run.queued()
    assert set(open_states(run).values()) == {"waiting"}
    assert run.state() is RunState.WAITING
    for late in (running, judging):
        with pytest.raises(StaleLease):
            say(run, late, {"verdict": "accepted"})

    answer(run, question(run).id)
    assert open_states(run) == {
        "a": "queued",
        "b": "queued",
        "c": "queued",
        "d": "verifying",
        "e": "verifying",
    }
    assert (of(run, "b").failures, of(run, "b").moves) == (0, 0), "nobody is to blame"
    for alias in "abc":
        do(run, alias, 1)
    for alias in "de":
        do(run, alias, {"verdict": "accepted"})
    assert run.state() is RunState.SUCCEEDED


def test_what_comes_up_behind_a_barrier_waits_too() -> None:
    run = planned(task("a"), task("b", retry_policy={"max_attempts": 2, "backoff_seconds": 5}))
    run.fail(of(run, "b").id)
    asked = ask(run, "a", blocks_run=True)
    run.now += 6_000
    run.send(TimerFired(f"{of(run, 'b').id}!retry", RUN_ID))
    assert of(run, "b").state == "waiting"
    assert not run.queued()
    answer(run, asked)
    assert open_states(run) == {"a": "queued", "b": "queued"}


def test_a_barrier_stands_until_the_last_question_is_answered() -> None:
    run = planned(task("a"), task("b"), task("c"))
    first, second = ask(run, "a", blocks_run=True), ask(run, "b", blocks_run=True)
    answer(run, first)
    assert open_states(run) == {"a": "waiting", "b": "waiting", "c": "waiting"}
    answer(run, second)
    assert set(open_states(run).values()) == {"queued"}
    assert run.row().barriers == 0


def test_a_planner_is_held_back_as_well() -> None:
    run = planned(task("a"), task("b"))
    do(run, "a", {"status": "completed", "request_replan": True})
    planning = claim(run)
    asked = ask(run, "b", blocks_run=True)
    with pytest.raises(StaleLease):
        say(run, planning, {"tasks": [task("z")]})
    answer(run, asked)
    say(run, claim(run), {"tasks": [task("z")]})
    assert open_states(run) == {"z": "queued"}


def test_a_question_that_is_superseded_holds_back_nobody() -> None:
    run = planned(task("a"), task("b"))
    ask(run, "a", blocks_run=True)
    run.send(RetryRequested(RUN_ID, of(run, "a").id, descendants=True))
    assert open_states(run) == {"a": "queued", "b": "queued"}
    assert run.row().barriers == 0


def test_a_run_behind_a_barrier_can_be_cancelled_and_retried() -> None:
    run = planned(task("a"), task("b"))
    claim(run, "b")
    ask(run, "a", blocks_run=True)
    run.send(CancelRequested(RUN_ID))
    assert run.state() is RunState.CANCELLED
    assert run.row().barriers == 0
    run.send(RetryRequested(RUN_ID))
    assert open_states(run) == {"a": "queued", "b": "queued"}


def test_the_default_lifts_a_barrier_when_nobody_answers_in_time() -> None:
    run = planned(task("a"), task("b"))
    default = {"mode": "freeform", "freeform_input": "go"}
    request = Request("Go?", Question(default_action=default, blocks_run=True), timeout_ms=1_000)
    run.send(QuestionAsked(RUN_ID, of(run, "a").id, request, "q", "ann"))
    run.now += 1_000
    run.send(TimerFired(f"{of(run, 'a').id}!timeout", RUN_ID))
    assert open_states(run) == {"a": "queued", "b": "queued"}
    rows = [row for row in run.tables[Checkpoint].values() if isinstance(row, Checkpoint)]
    assert [row.state for row in rows] == ["expired"]

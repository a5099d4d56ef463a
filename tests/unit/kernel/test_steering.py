"""What people ask of a plan that goes on: hints, questions, and to do without a task."""

import json
from typing import Any

import pytest

from tests.plans import ask, claim, do, of, open_states, planned, played, say, task
from windlass.kernel.events import (
    AttemptFailed,
    AttemptSucceeded,
    CheckpointAnswered,
    HintGiven,
    LeaseExpired,
    QuestionAsked,
    RetryRequested,
    TaskCancelRequested,
)
from windlass.model.errors import Conflict, DefinitionError, NotFound, StaleLease
from windlass.model.hints import Hint, HintKind
from windlass.model.ids import task_id
from windlass.model.questions import Question, Request
from windlass.model.rows import Attempt, Checkpoint, Failure
from windlass.model.states import RunState
from windlass.testing.played import RUN_ID, Played


def cancel(run: Played, alias: str) -> None:
    run.send(TaskCancelRequested(RUN_ID, task_id(run.one("plan").id, alias, 0)))


def hint(run: Played, kind: HintKind, alias: str = "", summary: str = "", **details: Any) -> None:
    about = task_id(run.one("plan").id, alias, 0) if alias else ""
    run.send(HintGiven(RUN_ID, Hint(kind, summary, details, about), "ann"))


def brief(run: Played, alias: str) -> Any:
    return json.loads(claim(run, alias).input)


# Doing without a task


def test_a_cancelled_task_takes_its_successors_along_and_nothing_else() -> None:
    run = planned(task("a"), task("b", "a"), task("c", "b"), task("d", "a"), task("e", "c", "d"))
    do(run, "a")
    held = claim(run, "b")
    cancel(run, "b")
    with pytest.raises(StaleLease):
        say(run, held, 1)
    states = {"a": "succeeded", "b": "cancelled", "c": "skipped", "d": "queued", "e": "pending"}
    assert open_states(run) == states
    do(run, "d")
    assert open_states(run)["e"] == "skipped", "it depends on what will not come"
    assert run.state() is RunState.SUCCEEDED


def test_a_task_whose_turn_has_not_come_can_be_cancelled() -> None:
    run = planned(task("a"), task("b", "a"), task("c", "b"))
    cancel(run, "b")
    assert open_states(run) == {"a": "queued", "b": "cancelled", "c": "skipped"}
    do(run, "a")
    assert run.state() is RunState.SUCCEEDED
    assert run.tasks("plan/b")[0].attempts == 0


def test_a_task_that_waits_for_a_verdict_or_a_person_can_be_cancelled() -> None:
    run = planned(task("a", verification_policy={"verifier_profile": "judge"}), task("b"))
    do(run, "a", 1)
    verdict = run.claim(of(run, "a").id)
    cancel(run, "a")
    with pytest.raises(StaleLease):
        run.send(AttemptSucceeded(verdict.attempt_id, '{"verdict": "accepted"}'))
    asked = ask(run, "b")
    cancel(run, "b")
    assert run.tables[Checkpoint][asked].state == "cancelled"  # type: ignore[attr-defined]
    assert run.state() is RunState.SUCCEEDED


def test_what_was_done_without_stays_so_when_others_are_retried_or_planned_anew() -> None:
    run = planned(task("a"), task("b"), task("c", "b"))
    cancel(run, "b")
    again = [task("a"), task("b"), task("c", "b"), task("d", "b")]
    do(run, "a", {"status": "completed", "request_replan": True, "child_tasks": again})
    assert open_states(run) == {"a": "succeeded", "b": "cancelled", "c": "skipped", "d": "skipped"}
    run = planned(task("a"), task("b"), task("c", "b"))
    cancel(run, "b")
    run.fail(of(run, "a").id)
    with pytest.raises(Conflict, match="retry from it"):
        run.send(RetryRequested(RUN_ID, of(run, "b").id))
    run.send(RetryRequested(RUN_ID))
    assert open_states(run) == {"a": "queued", "b": "cancelled", "c": "skipped"}
    run.send(RetryRequested(RUN_ID, of(run, "b").id, descendants=True))
    assert open_states(run) == {"a": "queued", "b": "queued"}


def test_what_cannot_be_done_without_is_refused() -> None:
    run = planned(task("a"), task("b"))
    do(run, "a")
    with pytest.raises(Conflict, match="already succeeded"):
        cancel(run, "a")
    with pytest.raises(NotFound):
        cancel(run, "nobody")
    do(run, "b")
    with pytest.raises(Conflict, match="cannot be steered"):
        cancel(run, "b")


# Questions from outside


def test_a_question_takes_the_task_from_its_worker_and_the_next_attempt_is_told() -> None:
    run = planned(task("a"))
    held = claim(run, "a")
    asked = ask(run, "a", "Which colour?")
    attempt = run.tables[Attempt][held.attempt_id]
    assert attempt.state == "cancelled"  # type: ignore[attr-defined]
    with pytest.raises(Conflict, match="waits for an answer already"):
        ask(run, "a")
    run.send(CheckpointAnswered(RUN_ID, asked, "red", by="bo"))
    second = ask(run, "a", "And which size?")
    run.send(CheckpointAnswered(RUN_ID, second, "large", by="bo"))
    told = brief(run, "a")["answers"]
    assert [(one["question"], one["freeform_input"]) for one in told] == [
        ("Which colour?", "red"),
        ("And which size?", "large"),
    ]
    assert of(run, "a").failures == of(run, "a").moves == 0


def test_a_claim_is_judged_after_the_answer() -> None:
    run = planned(task("a", verification_policy={"verifier_profile": "judge"}))
    do(run, "a", 1)
    asked = ask(run, "a")
    run.send(CheckpointAnswered(RUN_ID, asked, "sure", by="bo"))
    assert of(run, "a").state == "verifying"
    assert brief(run, "a")["role"] == "verify"
    do(run, "a", {"verdict": "accepted"})
    assert run.state() is RunState.SUCCEEDED


def test_an_outcome_that_comes_late_does_not_pass_a_question_by() -> None:
    run = planned(task("a"))
    held = claim(run, "a")
    run.now = held.lease_until
    run.send(LeaseExpired(held.attempt_id, held.lease_until))
    ask(run, "a")
    with pytest.raises(StaleLease):
        say(run, held, 1)
    with pytest.raises(StaleLease):
        run.send(AttemptFailed(held.attempt_id, Failure("failed", "late")))
    assert of(run, "a").state == "waiting"


def test_questions_nobody_could_answer_are_refused() -> None:
    run = planned(task("a"), task("b", "a"))
    early = QuestionAsked(
        RUN_ID, task_id(run.one("plan").id, "b", 0), Request("?", Question()), "q"
    )
    with pytest.raises(Conflict, match="has not begun"):
        run.send(early)
    do(run, "a")
    with pytest.raises(Conflict, match="already succeeded"):
        ask(run, "a")


# Hints


def test_context_reaches_everyone_who_comes_after() -> None:
    run = planned(task("a"), task("b", "a"), input={"city": "Bern"})
    claim(run, "a")
    hint(run, HintKind.CONTEXT_UPDATE, budget=10)
    do(run, "a")
    assert brief(run, "b")["run"]["input"] == {"city": "Bern", "budget": 10}


def test_a_constraint_reaches_the_task_it_is_for() -> None:
    run = planned(task("a"), task("b", "a", inputs={"colour": "red", "size": 1}))
    hint(run, HintKind.CONSTRAINT_UPDATE, "b", colour="blue")
    hint(run, HintKind.CONSTRAINT_UPDATE, "b", depth=3)
    do(run, "a")
    assert brief(run, "b")["task"]["inputs"] == {"colour": "blue", "size": 1, "depth": 3}
    with pytest.raises(Conflict, match="has its inputs already"):
        hint(run, HintKind.CONSTRAINT_UPDATE, "b", colour="green")


def test_a_hint_asks_for_another_plan_or_brings_it() -> None:
    run = planned(task("a"), task("b"))
    hint(run, HintKind.REPLAN_REQUEST, "a", "too slow")
    asked = json.loads(claim(run).input)
    assert (asked["reason"], asked["hint"]) == ("hint", "too slow")
    assert asked["source_task_id"] == of(run, "a").id
    run = planned(task("a"), task("b"))
    hint(run, HintKind.REPLAN_REQUEST, replacement_plan={"tasks": [task("a"), task("z")]})
    assert open_states(run) == {"a": "queued", "z": "queued"}


def test_a_hint_that_cannot_be_followed_changes_nothing() -> None:
    run = planned(task("a"), limits={"replans": 1})
    before = run.row()
    with pytest.raises(DefinitionError):
        hint(run, HintKind.REPLAN_REQUEST, replacement_plan={"tasks": []})
    hint(run, HintKind.REPLAN_REQUEST, replacement_plan={"tasks": [task("z")]})
    with pytest.raises(Conflict, match="may be planned anew 1 times"):
        hint(run, HintKind.REPLAN_REQUEST)
    assert run.row().graph_rev == before.graph_rev + 1
    assert open_states(run) == {"z": "queued"}
    do(run, "z")
    with pytest.raises(Conflict, match="cannot be steered"):
        hint(run, HintKind.CONTEXT_UPDATE, more=1)


def test_a_hint_before_the_first_plan_is_in_the_planners_brief() -> None:
    run = played()
    hint(run, HintKind.CONTEXT_UPDATE, city="Bern")
    assert json.loads(claim(run).input)["run"]["input"] == {"city": "Bern"}

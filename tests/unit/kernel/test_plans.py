"""Plans: planned, worked on, judged, with people in the loop. Read from the design's table of what
the kernel decides."""

import json
from typing import Any

import pytest

from tests.plans import claim, do, of, open_states, planned, played, question, say, task
from windlass.kernel.events import (
    AttemptFailed,
    CancelRequested,
    CheckpointAnswered,
    HintGiven,
    LeaseExpired,
    RetryRequested,
    TimerFired,
)
from windlass.model.assignment import Assignment
from windlass.model.errors import BadRequest, StaleLease
from windlass.model.hints import Hint, HintKind
from windlass.model.manifests import InputManifest, read_manifest
from windlass.model.patches import GraphPatch
from windlass.model.rows import Attempt, Failure, Timer
from windlass.model.states import Role, RunState
from windlass.testing.played import RUN_ID, Played

# Planning


def test_a_goal_waits_for_its_planner() -> None:
    run = played()
    plan = run.one("plan")
    assert (plan.state, plan.queue) == ("queued", "pull:planner.default")
    assert run.state() is RunState.RUNNING
    asked = claim(run)
    assert asked.role is Role.PLAN
    brief = json.loads(asked.input)
    assert brief["role"] == "plan"
    assert brief["reason"] == "start"
    assert brief["run"]["goal"] == "make it so"
    assert brief["limits"]["replans"] == 8


def test_a_plan_becomes_tasks_that_wait_for_each_other() -> None:
    run = played(worker_profile="")
    say(run, claim(run), {"summary": "two steps", "tasks": [task("a"), task("b", "a")]})
    assert open_states(run) == {"a": "queued"}
    assert of(run, "a").queue == "pull:llm.default"
    do(run, "a", {"status": "completed", "summary": "did a", "structured_output": {"n": 1}})
    brief = json.loads(claim(run, "b").input)
    assert brief["task"]["goal"] == "do b"
    [before] = brief["predecessors"]
    assert (before["alias"], before["status"], before["summary"]) == ("a", "completed", "did a")
    assert before["structured_output"] == {"n": 1}
    do(run, "b", {"done": True})
    assert run.state() is RunState.SUCCEEDED
    assert json.loads(run.one("plan").output or "") == {"b": {"done": True}}


def test_a_given_plan_asks_no_planner_and_a_worker_makes_the_goal_one_task() -> None:
    assert open_states(planned(task("a"), task("b"))) == {"a": "queued", "b": "queued"}
    run = played(worker_profile="hand", input={"x": 1})
    assert open_states(run) == {"root": "queued"}
    brief = json.loads(claim(run, "root").input)
    assert (brief["task"]["goal"], brief["task"]["inputs"]) == ("make it so", {"x": 1})


def test_all_problems_go_back_to_the_planner() -> None:
    run = played()
    bad = {"tasks": [task("a", "zzz"), {"alias": "b", "gaol": "x"}], "mood": "good"}
    assert say(run, claim(run), bad) == "accepted"
    assert run.one("plan").state == "queued"
    assert run.row().graph_rev == 0
    again = claim(run)
    told = json.loads(again.input)["feedback"][0]["summary"]
    for part in ("mood", "tasks[1].gaol", "tasks[1].goal"):
        assert part in told, told
    say(run, again, {"tasks": [task("a")]})
    assert open_states(run) == {"a": "queued"}


def test_planners_that_never_come_up_with_a_plan_fail_the_run() -> None:
    run = played()
    for _ in range(3):
        say(run, claim(run), {"tasks": []})
    assert run.state() is RunState.FAILED
    assert "refused" in str(run.row().error)


def test_a_lost_planner_is_no_failure_and_its_plan_is_stale() -> None:
    run = played()
    first = claim(run)
    run.now += 40_000
    run.send(LeaseExpired(first.attempt_id, first.lease_until))
    second = run.claim(run.one("plan").id, "another")
    with pytest.raises(StaleLease):
        say(run, first, {"tasks": [task("old")]})
    say(run, second, {"tasks": [task("new")]})
    assert open_states(run) == {"new": "queued"}


@pytest.mark.parametrize(
    ("tasks", "reason"),
    [
        ([task("a", "b"), task("b", "a")], "wait for each other"),
        ([task("a", "a")], "waits for itself"),
        ([task("a"), task("a")], "twice"),
        ([task("a", retry_policy={"max_attempts": 0})], "whole number"),
        ([task("a", verification_policy={"mode": "magic"})], "not known here"),
        ([task("a", role="final"), task("b", role="final")], "more than one"),
        ([task("a b")], "plain name"),
        ([task("a", env_preconditions={"required": True})], "no resource is named"),
        ([task("größe")], "plain name"),
        ([task("a", goal="x" * 5_000)], "5,000 characters"),
    ],
)
def test_plans_that_mean_nothing_are_refused(tasks: list[dict[str, Any]], reason: str) -> None:
    run = planned(*tasks)
    assert run.state() is RunState.FAILED
    assert reason in str(run.row().error)


def test_limits_are_the_runs_up_to_the_cap() -> None:
    many = [task(f"t{number}") for number in range(300)]
    assert "300 tasks, at most 256" in str(planned(*many).row().error)
    wide = planned(*many, limits={"plan_tasks": 1_000_000})
    assert len(open_states(wide)) == 300
    assert "whole number" in str(played(limits={"replans": 0}).row().error)


# Results


def test_an_answer_that_lacks_something_is_tried_again_with_that_said() -> None:
    run = planned(task("a", retry_policy={"max_attempts": 2}))
    artifact = {"kind": "report", "uri": "x"}
    do(run, "a", {"status": "completed", "artifacts": [artifact]})
    assert of(run, "a").state == "queued"
    brief = json.loads(claim(run, "a").input)
    assert "version, digest" in brief["feedback"][0]["summary"]


def test_the_output_of_the_final_task_is_the_plans() -> None:
    run = planned(task("a"), task("b", role="final"))
    do(run, "a", 1)
    do(run, "b", {"answer": 42})
    assert json.loads(run.one("plan").output or "") == {"answer": 42}


def test_the_output_must_have_the_shape_that_was_asked_for() -> None:
    schema = {"type": "object", "required": ["answer"]}
    run = planned(task("a", role="final"), output_schema=schema)
    do(run, "a", {"nothing": 1})
    assert run.state() is RunState.FAILED
    assert "answer" in str(run.row().error)


def test_a_claim_of_a_plans_task_is_judged_first() -> None:
    policy = {"verifier_profile": "judge", "on_reject": "retry"}
    run = planned(
        task("a", verification_policy=policy, retry_policy={"max_attempts": 2}), task("b", "a")
    )
    do(run, "a", {"n": 1})
    assert open_states(run) == {"a": "verifying"}
    brief = json.loads(claim(run, "a").input)
    assert brief["result"]["structured_output"] == {"n": 1}
    do(run, "a", {"verdict": "rejected", "summary": "no"})
    brief = json.loads(claim(run, "a").input)
    assert brief["feedback"][-1]["summary"] == "no"
    do(run, "a", {"n": 2})
    do(run, "a", {"verdict": "accepted"})
    assert open_states(run) == {"a": "succeeded", "b": "queued"}


# Failures


def test_a_failed_task_fails_the_run_unless_told_otherwise() -> None:
    run = planned(task("a"), task("b"))
    run.fail(of(run, "a").id)
    assert run.state() is RunState.FAILED
    assert open_states(run) == {"a": "failed", "b": "cancelled"}


def test_continue_skips_successors_and_goes_on() -> None:
    run = planned(task("a", on_failure="continue"), task("b", "a"), task("c"))
    do(run, "a", {"status": "failed", "summary": "cannot", "failure_class": "no_access"})
    assert open_states(run) == {"a": "failed", "b": "skipped", "c": "queued"}
    do(run, "c", 1)
    assert run.state() is RunState.SUCCEEDED
    assert run.row().failures == 1


def test_a_person_may_decide_about_a_failure() -> None:
    for answer, states in (
        ("retry", {"a": "queued", "b": "pending"}),
        ("continue", {"a": "failed", "b": "skipped"}),
        ("fail", {"a": "failed", "b": "cancelled"}),
    ):
        run = planned(task("a", on_failure="ask"), task("b", "a"))
        run.fail(of(run, "a").id)
        assert of(run, "a").state == "waiting"
        run.send(CheckpointAnswered(RUN_ID, question(run).id, answer, "ada"))
        found = open_states(run)
        assert found["a"] == states["a"]
        assert found.get("b", "pending") == states["b"] or answer == "fail"


def test_retry_opens_what_was_cancelled_with_a_failure() -> None:
    run = planned(task("a"), task("b", "a"), task("c"))
    run.fail(of(run, "a").id)
    assert run.state() is RunState.FAILED
    run.send(RetryRequested(RUN_ID, of(run, "a").id))
    assert run.state() is RunState.RUNNING
    do(run, "a", 1)
    do(run, "b", 2)
    do(run, "c", 3)
    assert run.state() is RunState.SUCCEEDED


def test_retry_of_a_plan_that_was_never_made_asks_for_it_again() -> None:
    run = played()
    for _ in range(3):
        say(run, claim(run), {"tasks": []})
    assert run.state() is RunState.FAILED
    run.send(RetryRequested(RUN_ID))
    say(run, claim(run), {"tasks": [task("a")]})
    do(run, "a", 1)
    assert run.state() is RunState.SUCCEEDED


# People


def test_an_attempt_asks_and_the_next_is_told_the_answer() -> None:
    run = planned(task("a"))
    options = [{"id": "x", "label": "X"}, {"id": "own", "kind": "freeform"}]
    ask = {"question": "Which one?", "options": options}
    do(run, "a", {"status": "waiting", "checkpoint": ask})
    assert (of(run, "a").state, run.state()) == ("waiting", RunState.WAITING)
    asked = question(run)
    answer = {"mode": "select_option", "option_id": "x", "freeform_input": "hm"}
    with pytest.raises(BadRequest, match="takes no words"):
        run.send(CheckpointAnswered(RUN_ID, asked.id, answer, "ada"))
    run.send(CheckpointAnswered(RUN_ID, asked.id, "x", "ada"))
    brief = json.loads(claim(run, "a").input)
    [told] = brief["answers"]
    assert (told["question"], told["mode"]) == ("Which one?", "select_option")
    assert (told["option_id"], told["resolved_by"]) == ("x", "ada")
    assert of(run, "a").failures == 0
    do(run, "a", {"ok": True})
    assert run.state() is RunState.SUCCEEDED


def test_without_an_answer_in_time_the_default_counts() -> None:
    run = planned(task("a"))
    ask = {
        "question": "Go on?",
        "options": [{"id": "yes"}, {"id": "no"}],
        "default_action": {"mode": "select_option", "option_id": "no"},
        "timeout_seconds": 60,
    }
    do(run, "a", {"status": "waiting", "checkpoint": ask})
    run.now += 61_000
    run.send(TimerFired(f"{of(run, 'a').id}!timeout", RUN_ID))
    [told] = json.loads(claim(run, "a").input)["answers"]
    assert (told["option_id"], told["resolved_by"]) == ("no", "timeout")


def test_a_question_that_is_none_is_the_attempts_failure() -> None:
    run = planned(task("a", retry_policy={"max_attempts": 2}))
    do(run, "a", {"status": "waiting", "checkpoint": {"question": ""}})
    assert of(run, "a").state == "queued"
    assert "a question has" in json.loads(claim(run, "a").input)["feedback"][0]["summary"]


# Cancelling


@pytest.mark.parametrize("held", [True, False])
def test_cancelling_while_a_planner_is_asked(held: bool) -> None:
    run = played()
    asked = claim(run) if held else None
    run.send(CancelRequested(RUN_ID))
    if asked is not None:
        assert run.state() is RunState.CANCELLING
        say(run, asked, {"tasks": [task("a")]})
    assert run.state() is RunState.CANCELLED
    assert open_states(run) == {}


def test_cancelling_takes_everything_in_a_plan_along() -> None:
    run = planned(task("a"), task("b", "a"))
    held = claim(run, "a")
    run.send(CancelRequested(RUN_ID))
    run.send(AttemptFailed(held.attempt_id, Failure("cancelled", "stopped")))
    assert run.state() is RunState.CANCELLED


def test_every_revision_is_kept_with_the_plan_as_it_was_given() -> None:
    run = planned(task("a"))
    do(run, "a", {"status": "completed", "request_replan": True, "child_tasks": [task("b")]})
    rows = [row for row in run.tables[GraphPatch].values() if isinstance(row, GraphPatch)]
    plans = [json.loads(row.patch)["plan"] for row in rows]
    assert [json.loads(text)["tasks"][0]["alias"] for text in plans] == ["a", "b"]


def test_a_planner_that_takes_too_long_is_not_waited_for() -> None:
    run = played(planner_profile="p", limits={"planner_seconds": 60})
    slow = claim(run)
    assert f"{slow.task_id}!timeout" in run.tables[Timer]
    run.now += 60_000
    run.send(TimerFired(f"{slow.task_id}!timeout", RUN_ID))
    with pytest.raises(StaleLease):
        say(run, slow, {"tasks": [task("a")]})
    next_one = claim(run)
    assert json.loads(next_one.input)["feedback"][0]["summary"] == "no plan within 60 s"
    say(run, next_one, {"tasks": [task("a", worker_profile="hand")]})
    assert f"{slow.task_id}!timeout" not in run.tables[Timer]
    do(run, "a")
    assert run.state() is RunState.SUCCEEDED


def test_an_attempt_keeps_what_it_was_given_whatever_comes_later() -> None:
    run = planned(task("a"), task("b", "a", inputs={"words": 5}))
    made = {"kind": "file", "uri": "s3://x", "version": "2", "digest": "d", "summary": "s"}
    do(run, "a", {"summary": "done", "artifacts": [made]})
    first = claim(run, "b")
    kept = manifest_in(run, first)
    assert kept.inputs == {"words": 5}
    [artifact] = kept.artifacts
    assert (artifact["uri"], artifact["version"], artifact["digest"]) == ("s3://x", "2", "d")
    brief = json.loads(first.input)
    assert kept.blackboard == brief["blackboard"] != []
    run.send(AttemptFailed(first.attempt_id, Failure("returned", "not now")))
    second = claim(run, "b")
    assert manifest_in(run, second).hash == kept.hash, "the same was given twice"
    run.send(AttemptFailed(second.attempt_id, Failure("returned", "not now")))
    hint = Hint(HintKind.CONSTRAINT_UPDATE, "", {"words": 9}, of(run, "b").id)
    run.send(HintGiven(RUN_ID, hint, "ann"))
    third = manifest_in(run, claim(run, "b"))
    assert third.inputs == {"words": 9}
    assert third.hash != kept.hash
    assert manifest_in(run, first) == kept


def manifest_in(run: Played, assignment: Assignment) -> InputManifest:
    attempt = run.tables[Attempt][assignment.attempt_id]
    assert isinstance(attempt, Attempt)
    found = read_manifest(attempt.manifest)
    assert found is not None
    return found

"""Plans that are made anew while the run goes on, and what that keeps."""

import json
from typing import Any, cast

import pytest

from tests.plans import ask, claim, do, of, open_states, planned, say, task
from windlass.dialects.plan import compile_plan
from windlass.kernel.events import (
    CancelRequested,
    EnvRefused,
    EnvReserved,
    HintGiven,
    RetryRequested,
)
from windlass.model.envs import EnvResource, EnvSession, EnvState, resource_id
from windlass.model.errors import StaleLease
from windlass.model.hints import Hint, HintKind
from windlass.model.rows import Task
from windlass.model.states import RunState, TaskState
from windlass.testing.played import RUN_ID, Played


def test_a_result_may_bring_the_next_plan_along() -> None:
    run = planned(task("a"), task("b", "a"))
    more = [task("a"), task("b", "a"), task("c", "a")]
    do(run, "a", {"status": "completed", "request_replan": True, "child_tasks": more})
    assert open_states(run) == {"a": "succeeded", "b": "queued", "c": "queued"}
    assert run.row().graph_rev == 2


def test_a_replan_redoes_only_what_changed_and_what_stands_on_it() -> None:
    run = planned(task("a"), task("b", "a"), task("c", "b"), task("d", "a"))
    do(run, "a", 1)
    held = claim(run, "d")
    do(run, "b", {"status": "completed", "summary": "hm", "request_replan": True})
    assert run.one("plan").state == "queued"
    asked = claim(run)
    brief = json.loads(asked.input)
    assert brief["reason"] == "replan"
    assert brief["source_task_id"] == of(run, "b").id
    assert {item["alias"]: item["status"] for item in brief["current"]} == {
        "a": "completed",
        "b": "completed",
        "c": "queued",
        "d": "running",
    }
    new = [task("a"), {**task("b", "a"), "goal": "do b well"}, task("c", "b"), task("d", "a")]
    say(run, asked, {"tasks": new})
    assert open_states(run) == {"a": "succeeded", "b": "queued", "d": "running"}
    say(run, held, {"kept": True})
    assert of(run, "d").state == "succeeded", "what runs goes on while its plan is made anew"
    do(run, "b", 1)
    do(run, "c", 1)
    assert run.state() is RunState.SUCCEEDED


def test_what_is_dropped_is_fenced() -> None:
    run = planned(task("a"), task("b"))
    held = claim(run, "b")
    do(run, "a", {"status": "completed", "request_replan": True, "child_tasks": [task("a")]})
    with pytest.raises(StaleLease):
        say(run, held, 1)
    assert run.state() is RunState.SUCCEEDED


def test_a_failure_may_have_the_plan_made_anew() -> None:
    run = planned(task("a", on_failure="replan"), task("b", "a"))
    run.fail(of(run, "a").id)
    assert (run.one("plan").state, run.state()) == ("queued", RunState.RUNNING)
    asked = claim(run)
    assert json.loads(asked.input)["hint"] == "boom"
    say(run, asked, {"tasks": [task("a", on_failure="replan"), task("b", "a")]})
    assert of(run, "a").state == "queued", "the same definition, but it had failed: once more"
    do(run, "a", 1)
    do(run, "b", 1)
    assert run.state() is RunState.SUCCEEDED


def test_a_rejected_claim_may_have_the_plan_made_anew() -> None:
    policy = {"verifier_profile": "judge", "on_reject": "replan"}
    run = planned(task("a", verification_policy=policy))
    do(run, "a", 1)
    do(run, "a", {"verdict": "rejected", "summary": "wrong way"})
    asked = claim(run)
    assert json.loads(asked.input)["reason"] == "rejected"
    say(run, asked, {"tasks": [task("z")]})
    assert open_states(run) == {"z": "queued"}


def test_what_comes_up_while_a_planner_is_at_it_is_planned_for_after_that() -> None:
    run = planned(task("a"), task("b"))
    wants = {"status": "completed", "request_replan": True}
    do(run, "a", {**wants, "summary": "first"})
    asked = claim(run)
    do(run, "b", {**wants, "summary": "second"})
    say(run, asked, {"tasks": [task("a"), task("b"), task("c")]})
    assert run.one("plan").state == "queued"
    assert json.loads(claim(run).input)["hint"] == "second"
    run.succeed(run.one("plan").id, {"tasks": [task("a"), task("b"), task("c")]})
    do(run, "c", 1)
    assert run.state() is RunState.SUCCEEDED


def test_replans_are_bounded() -> None:
    run = planned(task("a0"), limits={"replans": 2})
    for number in range(3):
        alias = f"a{number}"
        new = [task(f"a{number + 1}")]
        do(run, alias, {"status": "completed", "request_replan": True, "child_tasks": new})
    assert run.state() is RunState.FAILED
    assert "may be planned anew 2 times" in str(run.row().error)
    assert run.row().graph_rev == 3


def test_a_wish_for_another_plan_keeps_no_cancelled_run_from_its_end() -> None:
    run = planned(task("a"))
    held = claim(run, "a")
    run.send(CancelRequested(RUN_ID))
    say(run, held, {"status": "completed", "request_replan": True})
    assert run.state() is RunState.CANCELLED


def test_a_plan_that_is_given_up_takes_along_what_began_again_in_the_same_turn() -> None:
    run = planned(task("a"), task("c"), limits={"replans": 1})
    again = {"status": "completed", "request_replan": True}
    do(run, "a", {**again, "child_tasks": [task("a"), task("b", "a"), task("c")]})
    do(run, "b", 1)
    run.send(RetryRequested(RUN_ID, of(run, "a").id, descendants=True))
    do(run, "a", again)
    assert run.state() is RunState.FAILED
    assert open_states(run) == {"a": "succeeded", "b": "cancelled", "c": "cancelled"}


def test_a_failure_that_wants_another_plan_is_not_gone_on_without() -> None:
    run = planned(task("a", on_failure="continue"), task("b", "a"), task("c"))
    do(run, "a", {"status": "failed", "summary": "cannot", "request_replan": True})
    assert of(run, "a").state == "failed"
    say(run, claim(run), {"tasks": [task("a", on_failure="continue"), task("b", "a"), task("c")]})
    assert open_states(run) == {"a": "queued", "c": "queued"}, "what failed is done again"


def hint(run: Played, *tasks: dict[str, Any]) -> None:
    plan = {"replacement_plan": {"tasks": list(tasks)}} if tasks else {}
    run.send(HintGiven(RUN_ID, Hint(HintKind.REPLAN_REQUEST, "think again", plan, ""), "ann"))


@pytest.mark.parametrize("held", [True, False])
def test_a_plan_that_a_person_gives_is_not_replaced_by_one_for_the_plan_before(held: bool) -> None:
    run = planned(task("a"))
    hint(run)
    planning = claim(run) if held else None
    hint(run, task("b"))
    if planning is not None:
        with pytest.raises(StaleLease):
            say(run, planning, {"tasks": [task("c")]})
    assert open_states(run) == {"b": "queued"}
    assert run.row().graph_rev == 2
    do(run, "b")
    assert run.state() is RunState.SUCCEEDED


def test_a_planner_is_asked_again_once_a_result_has_brought_another_plan() -> None:
    run = planned(task("a"), task("z"))
    hint(run)
    planning = claim(run)
    more = [task("b"), task("z")]
    brought = {"status": "completed", "request_replan": True, "child_tasks": more}
    do(run, "a", brought)
    with pytest.raises(StaleLease):
        say(run, planning, {"tasks": [task("c")]})
    assert set(open_states(run)) == {"b", "z"}
    again = claim(run)
    told = json.loads(again.input or "")
    assert {row["alias"] for row in told["current"]} == {"b", "z"}
    assert (told["reason"], told["hint"]) == ("hint", "think again")
    say(run, again, {"tasks": [task("c")]})
    assert open_states(run) == {"c": "queued"}


def placed(alias: str, resource: str) -> dict[str, Any]:
    need = {"required": True, "resource_name": resource}
    return {**task(alias), "env_preconditions": need}


def with_places(*tasks: dict[str, Any]) -> tuple[Played, EnvSession]:
    """A plan whose first task waits for a place that is being made."""
    params = {"goal": "make it so", "plan": {"tasks": list(tasks)}, "worker_profile": "hand"}
    run = Played(compile_plan({}), params, begin=False)
    rows = [
        EnvResource(
            id=resource_id("default", name),
            tenant="default",
            name=name,
            kind="container",
            created_at=0,
        )
        for name in ("box", "desk")
    ]
    run.tables[EnvResource] = {row.id: row for row in rows}
    run.begin()
    held = '["default env:box"]'
    run.send(EnvReserved(of(run, "a").id, rows[0].id, "container", held))
    [session] = run.tables[EnvSession].values()
    return run, cast(EnvSession, session)


def test_a_task_that_is_planned_anew_gets_the_place_it_needs_then() -> None:
    run, on_its_way = with_places(placed("a", "box"))
    hint(run, placed("a", "desk"))
    again = of(run, "a")
    assert (again.state, again.env) == (TaskState.QUEUED, "")
    given_back = cast(EnvSession, run.tables[EnvSession][on_its_way.id])
    assert given_back.state is EnvState.RELEASING


def test_a_place_that_is_refused_while_somebody_is_asked_is_forgotten() -> None:
    run, on_its_way = with_places(placed("a", "box"))
    ask(run, "a")
    run.send(EnvRefused(on_its_way.id, "no such image"))
    assert (of(run, "a").env, of(run, "a").failures) == ("", 0)


def test_a_plan_counts_its_tasks_that_are_cancelled_before_it() -> None:
    run = planned(task("a"), task("b"), task("c"))
    held = claim(run, "b")
    do(run, "a", {"status": "completed", "summary": "hm", "request_replan": True})
    plan = run.one("plan")
    assert plan.state == "queued"
    # Whoever reads the open tasks of a run may find the plan behind what is in it.
    run.tables[Task][plan.id] = run.tables[Task].pop(plan.id)
    run.send(CancelRequested(RUN_ID))
    assert run.one("plan").open == 1, "b, which somebody has"
    say(run, held, 1)
    assert run.state() is RunState.CANCELLED

"""A result is a claim: what each verdict, and each lost one, makes of the task."""

import json
from typing import Any

import msgspec
import pytest

from windlass.dialects.flow import compile_flow
from windlass.kernel.events import (
    AttemptFailed,
    AttemptSucceeded,
    CancelRequested,
    CheckpointAnswered,
    Claim,
    LeaseExpired,
    RetryRequested,
    TimerFired,
)
from windlass.kernel.view import Outgrown
from windlass.model.assignment import Assignment
from windlass.model.errors import BadRequest, DefinitionError, StaleLease
from windlass.model.rows import Attempt, Checkpoint, Failure, Task, Timer
from windlass.model.states import AttemptState, Role, RunState
from windlass.testing.played import RUN_ID, Played


def run_of(policy: dict[str, Any] | None = None, **call: Any) -> Played:
    """A run of two steps, of which the first is verified."""
    definition = {
        "start": "make",
        "nodes": {
            "make": {
                "exec_type": "queue",
                "service": "make",
                "verification": {"verifier_profile": "checker", **(policy or {})},
                "post": {"output_key": "made"},
                **call,
            },
            "use": {"exec_type": "queue", "service": "use", "prep": {"input_key": "$shared.made"}},
        },
        "edges": [{"from": "make", "to": "use"}],
        "on_failure": "fail",
    }
    return Played(compile_flow(definition))


def claimed(run: Played, node: str) -> Assignment:
    return run.claim(run.one(node).id)


def end(run: Played, assignment: Assignment, output: Any) -> str:
    answer: str = run.send(AttemptSucceeded(assignment.attempt_id, json.dumps(output)))
    return answer


def to_verifying(run: Played, output: Any = None) -> Task:
    end(run, claimed(run, "make"), {"n": 1} if output is None else output)
    return run.one("make")


def wait_for_pause(run: Played) -> None:
    """Let the time pass until a verdict is asked for again, if it is not already."""
    if run.one("make").queue is None:
        run.now += 60_000
        run.send(TimerFired(f"{run.one('make').id}!retry", RUN_ID))


def attempts(run: Played) -> list[Attempt]:
    return [row for row in run.tables[Attempt].values() if isinstance(row, Attempt)]


def test_an_output_stays_on_its_attempt_until_it_is_accepted() -> None:
    run = run_of()
    task = to_verifying(run)
    assert (task.state, task.queue, task.output) == ("verifying", "pull:checker", None)
    assert run.state() is RunState.RUNNING
    assert "use" not in run.states(), "nothing builds on a claim"
    verdict = claimed(run, "make")
    assert verdict.role is Role.VERIFY
    assert run.one("make").state == "verifying"
    end(run, verdict, {"verdict": "accepted", "summary": "fine"})
    assert run.one("make").output == '{"n": 1}'
    assert claimed(run, "use").input == '{"n": 1}'
    assert [(row.role, row.output) for row in attempts(run)][:2] == [
        ("work", '{"n": 1}'),
        ("verify", '{"verdict": "accepted", "summary": "fine"}'),
    ]


def test_a_verifier_is_told_the_claim_and_the_policy() -> None:
    run = run_of({"required_artifact_kinds": ["report"]})
    to_verifying(run)
    brief = json.loads(claimed(run, "make").input)
    assert brief["role"] == "verify"
    assert brief["run"]["id"] == RUN_ID
    assert brief["task"]["alias"] == "make"
    assert brief["task"]["attempt_no"] == 1
    assert brief["result"]["structured_output"] == {"n": 1}
    assert brief["result"]["attempt_id"].endswith("@1")
    assert brief["policy"] == {"required_artifact_kinds": ["report"]}


def test_a_rejected_result_fails_the_task_unless_told_otherwise() -> None:
    run = run_of()
    to_verifying(run)
    verdict = {"verdict": "rejected", "summary": "wrong", "failure_class": "bad_sum"}
    end(run, claimed(run, "make"), verdict)
    task = run.one("make")
    assert task.state == "failed"
    assert task.output is None
    assert "wrong" in str(task.error)
    assert "bad_sum" in str(task.error)


def test_a_rejected_result_is_made_again_with_what_was_said_of_it() -> None:
    run = run_of({"on_reject": "retry"}, max_retries=1)
    to_verifying(run)
    end(run, claimed(run, "make"), {"verdict": "rejected", "summary": "too short"})
    assert run.one("make").queue == "pull:make"
    again = claimed(run, "make")
    assert again.role is Role.WORK
    told = [{"from": "verifier", "summary": "too short", "failure_class": "rejected"}]
    assert json.loads(again.feedback) == told
    end(run, again, {"n": 2})
    verdict = claimed(run, "make")
    assert json.loads(verdict.input)["feedback"] == told
    end(run, verdict, {"verdict": "rejected", "summary": "still"})
    assert run.one("make").state == "failed", "its retries are used up"


@pytest.mark.parametrize(
    ("answer", "state"),
    [(True, "succeeded"), ("accept", "succeeded"), (False, "failed"), ("retry", "queued")],
)
def test_a_person_may_give_the_verdict(answer: Any, state: str) -> None:
    run = run_of({"on_reject": "ask"})
    to_verifying(run)
    end(run, claimed(run, "make"), {"verdict": "rejected", "summary": "odd"})
    task = run.one("make")
    assert (task.state, run.state()) == ("waiting", RunState.WAITING)
    [asked] = [row for row in run.tables[Checkpoint].values() if isinstance(row, Checkpoint)]
    assert (asked.kind, asked.show) == ("verdict", '{"n": 1}')
    assert "odd" in asked.prompt
    with pytest.raises(BadRequest, match="accept, retry, fail"):
        run.send(CheckpointAnswered(RUN_ID, asked.id, "perhaps", "ada"))
    run.send(CheckpointAnswered(RUN_ID, asked.id, answer, "ada"))
    assert run.one("make").state == state
    assert run.one("make").queue == "pull:make"


def test_a_verifier_may_leave_it_to_a_person() -> None:
    run = run_of()
    to_verifying(run)
    ask = {"verdict": "ask", "checkpoint": {"question": "Is this the right customer?"}}
    end(run, claimed(run, "make"), ask)
    [asked] = [row for row in run.tables[Checkpoint].values() if isinstance(row, Checkpoint)]
    assert asked.prompt == "Is this the right customer?"


@pytest.mark.parametrize("kind", ["lost", "returned", "unreachable", "cancelled"])
def test_a_lost_verdict_is_asked_for_again_and_again(kind: str) -> None:
    run = run_of()
    to_verifying(run)
    for _ in range(30):
        wait_for_pause(run)
        verdict = claimed(run, "make")
        run.send(AttemptFailed(verdict.attempt_id, Failure(kind, "gone")))
        assert run.one("make").state == "verifying"
    wait_for_pause(run)
    end(run, claimed(run, "make"), {"verdict": "accepted"})
    assert run.one("make").state == "succeeded"
    assert run.one("make").failures == 0


def test_a_lease_that_runs_out_fences_the_verdict() -> None:
    run = run_of()
    to_verifying(run)
    first = claimed(run, "make")
    run.now += 40_000
    run.send(LeaseExpired(first.attempt_id, first.lease_until))
    second = run.claim(run.one("make").id, "another")
    with pytest.raises(StaleLease):
        end(run, first, {"verdict": "accepted"})
    end(run, second, {"verdict": "rejected"})
    assert run.one("make").state == "failed"


def test_a_late_verdict_counts_while_nobody_else_judges() -> None:
    run = run_of()
    to_verifying(run)
    first = claimed(run, "make")
    run.now += 40_000
    run.send(LeaseExpired(first.attempt_id, first.lease_until))
    end(run, first, {"verdict": "accepted"})
    assert run.one("make").state == "succeeded"


def test_the_same_verdict_twice_is_one() -> None:
    run = run_of()
    to_verifying(run)
    verdict = claimed(run, "make")
    assert end(run, verdict, {"verdict": "accepted"}) == "accepted"
    assert end(run, verdict, {"verdict": "accepted"}) == "duplicate"


@pytest.mark.parametrize("answer", [None, 1, {"verdict": "fine"}, {"summary": "no verdict"}])
def test_an_answer_that_is_no_verdict_is_the_verifiers_failure(answer: Any) -> None:
    run = run_of()
    to_verifying(run)
    for number in range(5):
        wait_for_pause(run)
        assert run.one("make").state == "verifying", number
        end(run, claimed(run, "make"), answer)
    assert run.one("make").state == "failed"
    assert "no verdict after 5 tries" in str(run.one("make").error)


def test_a_verdict_that_takes_too_long_is_asked_for_again() -> None:
    run = run_of({"timeout_seconds": 5})
    to_verifying(run)
    claimed(run, "make")
    run.now += 6_000
    run.send(TimerFired(f"{run.one('make').id}!timeout", RUN_ID))
    assert run.one("make").state == "verifying"
    assert attempts(run)[-1].state is AttemptState.TIMED_OUT
    assert Timer not in run.tables or f"{run.one('make').id}!timeout" not in run.tables[Timer]


def test_cancelling_takes_a_verdict_along() -> None:
    run = run_of()
    to_verifying(run)
    run.send(CancelRequested(RUN_ID))
    assert run.state() is RunState.CANCELLED
    waiting = run_of()
    to_verifying(waiting)
    verdict = claimed(waiting, "make")
    waiting.send(CancelRequested(RUN_ID))
    assert waiting.state() is RunState.CANCELLING
    end(waiting, verdict, {"verdict": "accepted"})
    assert waiting.state() is RunState.CANCELLED
    assert waiting.one("make").state == "cancelled"


def test_a_task_that_was_rejected_can_be_done_again() -> None:
    run = run_of()
    to_verifying(run)
    end(run, claimed(run, "make"), {"verdict": "rejected"})
    assert run.one("make").state == "failed"
    assert run.state() is RunState.FAILED
    run.send(RetryRequested(RUN_ID, run.one("make").id))
    assert (run.one("make").state, run.one("make").queue) == ("queued", "pull:make")


def test_retrying_from_a_task_that_is_being_verified_starts_it_afresh() -> None:
    run = run_of()
    to_verifying(run)
    verdict = claimed(run, "make")
    run.send(RetryRequested(RUN_ID, run.one("make").id, descendants=True))
    task = run.one("make")
    assert (task.state, task.queue, task.claim) == ("queued", "pull:make", 0)
    with pytest.raises(StaleLease):
        end(run, verdict, {"verdict": "accepted"})


def test_branches_of_a_fan_out_and_skipped_work_are_as_before() -> None:
    run = run_of()
    run.succeed(run.one("make").id, None, skipped=True)
    assert run.one("make").state == "skipped"


@pytest.mark.parametrize(
    ("policy", "reason"),
    [
        ({"on_reject": "replan"}, "planned anew"),
        ({"on_reject": "maybe"}, "not known here"),
        ({"mode": "magic"}, "not known here"),
        ({"colour": "red"}, "not known here"),
        ({"timeout_seconds": -1}, "seconds"),
        ({"required_artifact_kinds": "report"}, "list of texts"),
    ],
)
def test_a_policy_that_means_nothing_is_refused(policy: dict[str, Any], reason: str) -> None:
    with pytest.raises(DefinitionError, match=reason):
        run_of(policy)


def test_claiming_what_is_being_judged_twice_gives_nothing() -> None:
    run = run_of()
    task = to_verifying(run)
    assert run.send(Claim(task.id, "a", "", "a", 30_000)) is not None
    assert run.send(Claim(task.id, "b", "", "b", 30_000)) is None


def test_a_claim_on_rows_of_two_moments_is_asked_again_of_newer_ones() -> None:
    """A server that has read a run's row before a replan, and its task after it, sees a task in
    verification whose node has none. That is no fault of the run."""
    run = run_of()
    task = to_verifying(run)
    node = msgspec.structs.replace(run.graph.nodes["make"], verification=None)
    run.graph = msgspec.structs.replace(run.graph, nodes={**run.graph.nodes, "make": node})
    with pytest.raises(Outgrown, match="not verified in the graph at hand"):
        run.claim(task.id)


RULES = {"verifier_profile": "", "mode": "builtin_basic", "require_structured_output": True}


def test_what_rules_decide_is_judged_with_the_claim_and_recorded_like_any_verdict() -> None:
    run = run_of(RULES)
    run.succeed(run.one("make").id, {"n": 1})
    made = run.one("make")
    assert (made.state, made.output, made.claim, made.attempts) == ("succeeded", '{"n":1}', 1, 2)
    assert run.one("use").input == '{"n":1}'
    rows = [row for row in run.tables[Attempt].values() if isinstance(row, Attempt)]
    verdict = next(row for row in rows if row.task_id == made.id and row.role is Role.VERIFY)
    assert (verdict.number, verdict.state) == (2, AttemptState.SUCCEEDED)
    assert json.loads(verdict.output or "")["verdict"] == "accepted"


def test_rules_reject_by_the_policy_and_the_work_is_done_again() -> None:
    run = run_of({**RULES, "on_reject": "retry"}, max_retries=1)
    run.succeed(run.one("make").id, {})
    again = run.one("make")
    assert (again.state, again.output, again.failures) == ("queued", None, 1)
    run.succeed(again.id, {"n": 2})
    assert run.one("use").input == '{"n":2}'
    rejected = run_of(RULES)
    rejected.succeed(rejected.one("make").id, {})
    assert rejected.row().state is RunState.FAILED


def test_a_verdict_that_is_counted_by_a_limit_waits_for_its_turn() -> None:
    run = run_of(RULES, limits=[{"key": "all", "max": 1}])
    run.succeed(run.one("make").id, {"n": 1})
    made = run.one("make")
    assert (made.state, made.queue) == ("verifying", "local:builtin.basic")

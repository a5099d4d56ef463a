"""What a run says on its blackboard, who else may write there, and what a brief tells of it."""

import json
from typing import Any

import pytest

from tests.plans import claim, do, of, planned, played, say, task
from windlass.kernel.events import (
    AttemptFailed,
    BoardRebuilt,
    BoardWritten,
    CancelRequested,
    HintGiven,
    LeaseExpired,
)
from windlass.model.assignment import Assignment
from windlass.model.blackboard import BoardEntry, BoardPast, run_key, task_key
from windlass.model.errors import BadRequest, Conflict, Denied, StaleLease
from windlass.model.hints import Hint, HintKind
from windlass.model.rows import Failure
from windlass.testing.played import RUN_ID, Played

GOAL = run_key(RUN_ID, "context.goal")


def entry(run: Played, key: str) -> BoardEntry | None:
    row = run.tables.get(BoardEntry, {}).get(key)
    assert row is None or isinstance(row, BoardEntry)
    return row


def value(run: Played, key: str) -> Any:
    row = entry(run, key)
    assert row is not None, f"{key} is not there"
    return json.loads(row.payload)


def write(
    run: Played, by: Assignment, rest: str, payload: Any = 1, expected: int | None = None
) -> int:
    key = rest if rest.startswith("bb.") else task_key(by.task_id, rest)
    revision: int = run.send(BoardWritten(by.attempt_id, key, json.dumps(payload), expected))
    return revision


def result_of(run: Played, alias: str) -> Any:
    return value(run, task_key(of(run, alias).id, "result.summary"))


def test_goal_results_and_artifacts_are_said_as_they_come() -> None:
    artifact = {"kind": "file", "uri": "u", "version": "1", "digest": "d"}
    run = planned(task("a"), task("b", on_failure="continue"), input={"city": "Bern"})
    assert value(run, GOAL) == {
        "run_id": RUN_ID,
        "goal": "make it so",
        "input": {"city": "Bern"},
    }
    do(run, "a", {"status": "completed", "summary": "s", "artifacts": [artifact]})
    said = result_of(run, "a")
    assert (said["status"], said["summary"], said["claim_epoch"]) == ("completed", "s", 1)
    assert value(run, task_key(of(run, "a").id, "artifacts.list"))[0]["uri"] == "u"
    run.send(AttemptFailed(claim(run, "b").attempt_id, Failure("fatal", "no", code="c")))
    said = result_of(run, "b")
    assert (said["status"], said["failure_class"], said["summary"]) == ("failed", "c", "no")


def test_what_was_done_while_the_run_is_cancelled_is_said_as_well() -> None:
    run = planned(task("a"))
    taken = claim(run, "a")
    run.send(CancelRequested(RUN_ID))
    say(run, taken, {"status": "completed", "summary": "made it"})
    assert result_of(run, "a")["summary"] == "made it"


def test_nothing_unjudged_is_said_and_what_was_held_against_it_is() -> None:
    policy = {"verifier_profile": "judge", "on_reject": "retry"}
    run = planned(task("a", verification_policy=policy, retry_policy={"max_attempts": 2}))
    say(run, claim(run, "a"), {"n": 1})
    key = task_key(of(run, "a").id, "result.summary")
    assert entry(run, key) is None
    say(run, claim(run, "a"), {"verdict": "rejected", "summary": "too short"})
    assert entry(run, key) is None
    assert value(run, task_key(of(run, "a").id, "verifier.verdict"))["summary"] == "too short"


def test_a_brief_names_what_it_is_made_of_as_it_stood() -> None:
    run = planned(task("a"), task("b", "a"))
    do(run, "a", {"n": 1})
    told = json.loads(claim(run, "b").input)["blackboard"]
    key = task_key(of(run, "a").id, "result.summary")
    there = entry(run, key)
    assert there is not None
    assert told == [{"key": GOAL, "revision": 1}, {"key": key, "revision": there.revision}]
    asked = played(planner_profile="p")
    told = json.loads(claim(asked).input)["blackboard"]
    assert [each["key"] for each in told] == [GOAL]


def test_a_hint_writes_the_goal_anew_and_what_stood_before_is_kept() -> None:
    run = planned(task("a"), input={"a": 1})
    run.send(HintGiven(RUN_ID, Hint(HintKind.CONTEXT_UPDATE, "", {"b": 2}), "ann"))
    assert value(run, GOAL)["input"] == {"a": 1, "b": 2}
    [past] = [row for row in run.tables[BoardPast].values() if isinstance(row, BoardPast)]
    assert (past.key, past.revision, json.loads(past.payload)["input"]) == (GOAL, 1, {"a": 1})


def test_a_worker_writes_below_its_own_task_under_its_lease() -> None:
    run = planned(task("a"), task("b"))
    held, other = claim(run, "a"), claim(run, "b")
    revision = write(run, held, "progress.pages", {"read": 3})
    assert revision == run.row().seq
    there = entry(run, task_key(held.task_id, "progress.pages"))
    assert there is not None
    assert (there.writer, there.epoch, there.attempt_id) == ("worker", 1, held.attempt_id)
    foreign = task_key(other.task_id, "progress.pages")
    for key in (foreign, GOAL, task_key(held.task_id, "verifier.note")):
        with pytest.raises(Denied):
            write(run, held, key)
    for key in ("bb.task..x", "bb.task", task_key(held.task_id, "weather.x"), "bb.a b"):
        with pytest.raises((BadRequest, Denied)):
            write(run, held, key)
    with pytest.raises(BadRequest, match="at most"):
        write(run, held, "progress.pages", "x" * 300_000)
    run.now += 60_000
    run.send(LeaseExpired(held.attempt_id, run.now - 1))
    with pytest.raises(StaleLease):
        write(run, held, "progress.pages")


def test_results_are_only_swapped_for_what_was_seen() -> None:
    run = planned(task("a"))
    held = claim(run, "a")
    with pytest.raises(BadRequest, match="only swapped"):
        write(run, held, "result.draft")
    first = write(run, held, "result.draft", {"v": 1}, expected=0)
    assert write(run, held, "result.draft", {"v": 1}, expected=0) == first, "it heard no answer"
    with pytest.raises(Conflict, match=f"at revision {first}"):
        write(run, held, "result.draft", {"v": 2}, expected=0)
    second = write(run, held, "result.draft", {"v": 2}, expected=first)
    assert second > first
    gone = run.send(
        BoardWritten(held.attempt_id, task_key(held.task_id, "result.draft"), None, second)
    )
    there = entry(run, task_key(held.task_id, "result.draft"))
    assert there is not None
    assert (there.deleted, there.revision) == (1, gone)
    assert write(run, held, "result.draft", {"v": 3}, expected=0) > gone, "it is not there any more"


def test_whoever_judges_writes_in_the_verifiers_namespace_only() -> None:
    run = planned(task("a", verification_policy={"verifier_profile": "judge"}))
    say(run, claim(run, "a"), {"n": 1})
    judge = claim(run, "a")
    write(run, judge, "verifier.note")
    write(run, judge, run_key(RUN_ID, "verifier.note"))
    with pytest.raises(Denied, match="namespace verifier"):
        write(run, judge, "progress.x")


def test_what_was_wiped_is_said_anew_from_the_record() -> None:
    run = planned(task("a"), task("b", "a"), task("c", "b"))
    do(run, "a", {"n": 1})
    do(run, "b", {"n": 2})
    before = {key: value(run, key) for key in run.tables[BoardEntry]}
    run.tables[BoardEntry].clear()
    assert run.send(BoardRebuilt(RUN_ID)) == (1, 2)
    assert {key: value(run, key) for key in run.tables[BoardEntry]} == before

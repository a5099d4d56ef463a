"""Memoh's scenarios about plans made, made anew and tried again.

They are part of the list in `test_memoh_scenarios`.
"""

import time
from datetime import UTC, datetime

from tests.integration.conftest import Served
from tests.integration.memoh import Hand, Plans, unique
from tests.integration.test_orchestration import task
from windlass.testing.processes import wait_until


def test_epoch_drift_on_resume(served: Served) -> None:
    """Answers count in whatever plan their task stands; plans made for an older one do not."""
    at, profile, planner = Plans(served), unique("drifted"), unique("drifted-planner")
    worker, planning = Hand(served, profile), Hand(served, planner)
    run_id = at.planned_by(planner, worker_profile="")
    first = [task("kept", worker_profile=profile), task("dropped", worker_profile=profile)]
    planning.finish(planning.take(), {"tasks": first})
    kept, dropped = at.ask(run_id, "kept"), at.ask(run_id, "dropped")
    at.post(f"/runs/{run_id}/hints", hint={"kind": "replan_request", "summary": "think again"})
    stale = planning.take()
    assert stale["input"]["reason"] == "hint"
    at.replan(run_id, first[0], task("added", worker_profile=profile))
    assert at.run(run_id)["planner_epoch"] == 2
    rows = {row["id"]: row for row in at.get(f"/runs/{run_id}/checkpoints")["items"]}
    assert rows[kept]["status"] == "open"
    assert rows[dropped]["status"] in ("superseded", "cancelled")
    at.choose(dropped, want=409)
    at.choose(kept)
    told = planning.told(stale, {"tasks": [task("old", worker_profile=profile)]})
    assert told == "stale", "it was made for a plan that no longer stands"
    assert at.run(run_id)["planner_epoch"] == 2
    assert set(at.statuses(run_id)) == {"kept", "added"}
    for _ in range(2):
        taken = worker.take()
        wanted = ["x"] if taken["input"]["task"]["alias"] == "kept" else []
        assert [one["option_id"] for one in taken["input"]["answers"]] == wanted
        worker.finish(taken, {})
    at.until(run_id, "completed")


def test_replan_limits_without_epoch_advance(served: Served) -> None:
    at, profile, planner = Plans(served), unique("bounded"), unique("bounded-planner")
    planning, worker = Hand(served, planner), Hand(served, profile)
    limits = {"runtime_limits": {"replans": 1, "plan_tasks": 2}}
    run_id = at.planned_by(planner, requested_control_policy=limits)
    many = [task(name, worker_profile=profile) for name in "abc"]
    planning.finish(planning.take(), {"tasks": many})
    again = planning.take()
    assert "3 tasks, at most 2" in again["input"]["feedback"][0]["summary"]
    assert at.run(run_id)["lifecycle_status"] == "created"
    planning.finish(again, {"tasks": many[:2]})
    assert at.run(run_id)["planner_epoch"] == 1
    at.replan(run_id, *many, want=400)
    assert at.run(run_id)["planner_epoch"] == 1
    assert at.statuses(run_id) == {"a": "ready", "b": "ready"}
    at.replan(run_id, many[0])
    assert at.run(run_id)["planner_epoch"] == 2
    at.replan(run_id, many[1], want=409)
    run = at.run(run_id)
    assert (run["planner_epoch"], run["lifecycle_status"]) == (2, "running")
    asking = {"status": "completed", "summary": "done", "request_replan": True}
    worker.finish(worker.take(), asking)
    run = at.until(run_id, "failed")
    assert run["planner_epoch"] == 2
    assert "anew" in run["terminal_reason"]


def test_retry_back_off_delay(served: Served) -> None:
    at, profile = Plans(served), unique("patient")
    worker = Hand(served, profile)
    policy = {"max_attempts": 2, "backoff_seconds": 1}
    run_id = at.start(profile, task("a", retry_policy=policy), task("b", "a"))
    worker.fail(worker.take(), "not yet")
    failed_at = time.monotonic()
    assert at.statuses(run_id) == {"a": "ready", "b": "created"}
    assert worker.gets() == []
    ready = datetime.fromisoformat(at.tasks(run_id)["a"]["ready_at"])
    assert ready > datetime.now(UTC), "it says when it goes on"
    again = worker.take()
    assert 0.8 <= time.monotonic() - failed_at < 10
    assert again["input"]["task"]["attempt_no"] == 2
    assert "not yet" in again["input"]["feedback"][0]["summary"]
    worker.fail(again, "never")
    assert "never" in at.until(run_id, "failed")["terminal_reason"]
    attempts = at.inspect(run_id)["attempts"]
    assert [row["status"] for row in attempts] == ["failed", "failed"]


def test_join_auto_complete(served: Served) -> None:
    at, profile = Plans(served), unique("joined")
    worker = Hand(served, profile)
    join = task("both", "a", "b", kind="join")
    run_id = at.start(profile, task("a"), task("b"), join, task("end", "both"))
    first = worker.take()
    worker.finish(first, {"n": first["input"]["task"]["alias"]})
    assert at.statuses(run_id)["both"] == "created"
    second = worker.take()
    worker.finish(second, {"n": second["input"]["task"]["alias"]})
    end = worker.take()
    [told] = end["input"]["predecessors"]
    assert told["alias"] == "both"
    assert told["structured_output"] == {"a": {"n": "a"}, "b": {"n": "b"}}
    assert at.tasks(run_id)["both"]["kind"] == "join"
    worker.finish(end, {})
    at.until(run_id, "completed")


def test_planner_transient_exhaustion(served: Served) -> None:
    at, profile, planner = Plans(served), unique("tired"), unique("tired-planner")
    planning, worker = Hand(served, planner), Hand(served, profile)
    run_id = at.planned_by(planner)
    tries = 0
    while at.run(run_id)["lifecycle_status"] == "created":
        planning.fail(planning.take(), f"the model is away ({tries})")
        tries += 1
        assert tries < 20
    run = at.until(run_id, "failed")
    assert tries > 1, "one fault is no reason to give up"
    assert f"({tries - 1})" in run["terminal_reason"]
    assert run["intent_status"] == "idle"
    root = at.tasks(run_id)[""]
    assert root["status"] == "failed"
    at.post(f"/runs/{run_id}/tasks/{root['id']}/retry")
    assert at.run(run_id)["intent_status"] == "active"
    planning.finish(planning.take(), {"tasks": [task("a", worker_profile=profile)]})
    worker.finish(worker.take(), {"n": 1})
    wait_until(lambda: at.run(run_id)["output"] == {"a": {"n": 1}}, 20)

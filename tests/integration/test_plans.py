"""Plans over HTTP: goals planned by a worker, done by others, judged, asked about, planned anew."""

from typing import Any

from tests.hand import HandWorker
from tests.integration.conftest import Served


def start(served: Served, **body: Any) -> str:
    answer = served.http.post("/api/v1/runs", json={"dialect": "plan", **body})
    assert answer.status_code == 202, answer.text
    return str(answer.json()["id"])


def echo(**told: Any) -> dict[str, Any]:
    return {"worker_profile": "builtin.echo", "inputs": {"builtin_workerd": told}}


def test_a_plan_that_is_given_runs_with_what_is_built_in(served: Served) -> None:
    tasks = [
        {"alias": "a", "goal": "one", **echo(structured_output={"n": 1}, summary="made 1")},
        {"alias": "b", "goal": "two", **echo(structured_output={"n": 2})},
        {"alias": "sum", "goal": "both", "kind": "join", "role": "final", "depends_on": ["a", "b"]},
    ]
    run_id = start(served, goal="add up", plan={"tasks": tasks})
    run = served.wait(run_id)
    assert run["state"] == "succeeded", run
    assert run["output"] == {"a": {"n": 1}, "b": {"n": 2}}
    assert run["dialect"] == "plan"
    revisions = served.http.get(f"/api/v1/runs/{run_id}/revisions").json()["items"]
    assert len(revisions) == 1


def test_a_goal_is_planned_worked_on_judged_and_planned_anew(served: Served) -> None:
    planner, worker = HandWorker(served.http, "planner.one"), HandWorker(served.http, "worker.one")
    judge = HandWorker(served.http, "judge.one")
    run_id = start(served, goal="write it", plannerProfile="planner.one", input={"words": 5})
    why = served.http.get(f"/api/v1/runs/{run_id}/why").json()["line"]
    asked = planner.take()
    assert asked["role"] == "plan"
    assert asked["input"]["run"]["input"] == {"words": 5}
    assert "planner" in why
    planner.finish(asked, {"tasks": [{"alias": "x"}]})
    again = planner.take()
    assert "tasks[0].goal" in again["input"]["feedback"][0]["summary"]
    policy = {"verifier_profile": "judge.one", "on_reject": "replan"}
    draft = {
        "alias": "draft",
        "goal": "draft it",
        "worker_profile": "worker.one",
        "verification_policy": policy,
    }
    planner.finish(again, {"summary": "one draft", "tasks": [draft]})
    worker.finish(
        worker.take(), {"status": "completed", "summary": "a draft", "structured_output": 1}
    )
    judge.finish(judge.take(), {"verdict": "rejected", "summary": "the wrong subject"})
    replan = planner.take()
    assert (replan["input"]["reason"], replan["input"]["hint"]) == ("rejected", "the wrong subject")
    new = {"alias": "second", "goal": "write of something else", "worker_profile": "worker.one"}
    planner.finish(replan, {"tasks": [new]})
    ask = {"question": "Of what?", "options": [{"id": "own", "kind": "freeform"}]}
    worker.finish(worker.take(), {"status": "waiting", "checkpoint": ask})
    [open_] = served.http.get("/api/v1/checkpoints", params={"run": run_id}).json()["items"]
    resolve = f"/api/v1/checkpoints/{open_['id']}/resolve"
    assert served.http.post(resolve, json={"answer": "of ships"}).status_code == 200
    told = worker.take()
    assert told["input"]["answers"][0]["freeform_input"] == "of ships"
    worker.finish(
        told, {"status": "completed", "summary": "done", "structured_output": {"text": "…"}}
    )
    run = served.wait(run_id)
    assert run["state"] == "succeeded", run
    assert run["output"] == {"second": {"text": "…"}}
    roles = [
        row["role"] for row in served.http.get(f"/api/v1/runs/{run_id}/attempts").json()["items"]
    ]
    assert sorted(roles) == ["plan", "plan", "plan", "verify", "work", "work", "work"]


def test_what_cannot_be_planned_is_refused_and_starts_nothing(served: Served) -> None:
    before = served.http.get("/api/v1/runs", params={"q": "flow:plan"}).json()["items"]
    for body, reason in (
        ({"goal": " "}, "needs a goal"),
        ({"goal": "x", "plan": {"tasks": [{"alias": "a"}], "mood": 1}}, "mood"),
        ({"goal": "x", "limits": {"replans": -1}}, "whole number"),
        ({"goal": "x", "onFailure": "shrug"}, "shrug"),
        ({"goal": "x", "outputSchema": {"type": 3}}, "JSON Schema"),
        ({"goal": "x" * 9_000}, "9,000 characters"),
    ):
        answer = served.http.post("/api/v1/runs", json={"dialect": "plan", **body})
        assert answer.status_code in (400, 422), answer.text
        assert reason in answer.text, answer.text
    nothing = served.http.post("/api/v1/runs", json={"dialect": "dance"})
    assert nothing.status_code == 400
    after = served.http.get("/api/v1/runs", params={"q": "flow:plan"}).json()["items"]
    assert [row["id"] for row in after] == [row["id"] for row in before]


def test_a_failed_plan_is_retried_where_it_failed(served: Served) -> None:
    worker = HandWorker(served.http, "worker.two")
    tasks = [
        {"alias": "a", "goal": "a", "worker_profile": "worker.two"},
        {"alias": "b", "goal": "b", "worker_profile": "worker.two", "depends_on": ["a"]},
    ]
    run_id = start(served, goal="two", plan={"tasks": tasks})
    worker.finish(worker.take(), {"status": "failed", "summary": "no", "failure_class": "tired"})
    assert served.wait(run_id)["state"] == "failed"
    assert served.http.post(f"/api/v1/runs/{run_id}/retry", json={}).status_code == 202
    worker.finish(worker.take(), {"fine": 1})
    brief = worker.take()
    assert brief["input"]["predecessors"][0]["structured_output"] == {"fine": 1}
    worker.finish(brief, 2)
    run = served.wait(run_id)
    assert (run["state"], run["output"]) == ("succeeded", {"b": 2})


def test_a_planner_is_told_who_could_be_given_work(served: Served) -> None:
    planner = HandWorker(served.http, "told.planner")
    HandWorker(served.http, "told.worker")
    run_id = start(served, goal="ask around", plannerProfile="told.planner")
    taken = planner.take()
    profiles = taken["input"]["profiles"]
    assert {"told.worker", "told.planner", "builtin.echo", "builtin.join"} <= set(profiles)
    assert profiles == sorted(profiles)
    plan = {"tasks": [{"alias": "a", "goal": "g", "worker_profile": "builtin.echo"}]}
    planner.finish(taken, plan)
    assert served.wait(run_id)["state"] == "succeeded"

"""Plans as nodes of flows over HTTP: planned by a worker, hinted at, retried, and gone on from."""

from typing import Any

from tests.hand import HandWorker
from tests.integration.conftest import Served
from tests.workflows import node, uid, workflow

FLOW: dict[str, Any] = {
    "start": "first",
    "on_failure": "fail",
    "nodes": {
        "first": {
            "exec_type": "local_func",
            "func": "upper",
            "prep": {"input_key": "$params.topic"},
            "post": {"output_key": "title"},
        },
        "research": {
            "kind": "plan",
            "goal": "Find out about ${shared.title}",
            "planner_profile": "flow.planner",
            "prep": {"input_map": {"title": "$shared.title"}},
            "post": {"output_key": "found"},
        },
        "last": {
            "exec_type": "local_func",
            "func": "upper",
            "prep": {"input_key": "$shared.found.text"},
            "post": {"output_key": "final"},
        },
    },
    "edges": [{"from": "first", "to": "research"}, {"from": "research", "to": "last"}],
}


def tasks_of(served: Served, run_id: str) -> dict[str, dict[str, Any]]:
    items = served.http.get(f"/api/v1/runs/{run_id}/tasks").json()["items"]
    return {item["node"]: item for item in items if item["state"] != "superseded"}


def ended(served: Served, run_id: str) -> dict[str, Any]:
    run: dict[str, Any] = served.wait(run_id)
    return run


def begun(served: Served) -> tuple[str, HandWorker]:
    served.push("research", FLOW)
    planner, worker = (
        HandWorker(served.http, "flow.planner"),
        HandWorker(served.http, "flow.worker"),
    )
    run_id = served.start("research", {"topic": "ships"})
    asked = planner.take()
    assert asked["input"]["task"]["goal"] == "Find out about SHIPS"
    assert asked["input"]["run"]["input"] == {"title": "SHIPS"}
    task = {"goal": "do it", "worker_profile": "flow.worker"}
    tasks = [{"alias": "a", **task}, {"alias": "b", "depends_on": ["a"], "role": "final", **task}]
    planner.finish(asked, {"tasks": tasks})
    return run_id, worker


def test_a_flow_goes_on_with_what_its_plan_came_to(served: Served) -> None:
    run_id, worker = begun(served)
    first = worker.take()
    assert tasks_of(served, run_id)["research/a"]["state"] == "running"
    told = {"kind": "constraint_update", "task": "research/b", "details": {"words": 5}}
    answer = served.http.post(f"/api/v1/runs/{run_id}/hints", json=told)
    assert answer.status_code in (200, 202), answer.text
    worker.finish(first, {"n": 1})
    second = worker.take()
    assert second["input"]["task"]["inputs"] == {"words": 5}
    assert second["input"]["predecessors"][0]["structured_output"] == {"n": 1}
    why = served.http.get(f"/api/v1/runs/{run_id}/why").json()["line"]
    assert "research/b" in why
    worker.finish(second, {"text": "found"})
    run = ended(served, run_id)
    assert (run["state"], run["shared"]["final"]) == ("succeeded", "FOUND"), run
    revisions = served.http.get(f"/api/v1/runs/{run_id}/revisions").json()["items"]
    assert len(revisions) == 1


def test_a_failed_plan_is_retried_where_it_failed(served: Served) -> None:
    run_id, worker = begun(served)
    worker.finish(worker.take(), {"n": 1})
    worker.fail(worker.take(), "not today")
    assert ended(served, run_id)["state"] == "failed"
    answer = served.http.post(f"/api/v1/runs/{run_id}/retry", json={})
    assert answer.status_code in (200, 202), answer.text
    again = worker.take()
    assert again["node"] == "research/b"
    worker.finish(again, {"text": "found"})
    run = ended(served, run_id)
    assert run["shared"]["final"] == "FOUND"
    forked = served.http.post(f"/api/v1/runs/{run_id}/fork", json={"task": "research/b"})
    assert forked.status_code in (200, 201, 202), forked.text
    worker.finish(worker.take(), {"text": "other"})
    assert ended(served, forked.json()["id"])["shared"]["final"] == "OTHER"


def test_a_workflow_runs_its_plan_and_shows_it_as_one_of_its_nodes(served: Served) -> None:
    ends = {"builtin_workerd": {"structured_output": {"y": 7}}}
    echo = {"goal": "do it", "worker_profile": "builtin.echo"}
    last = {"alias": "b", "depends_on": ["a"], "inputs": ends, "role": "final", **echo}
    tasks = [{"alias": "a", **echo}, last]
    plan = node(
        "plan",
        type="workflow.plan",
        parameters={"goal": "reach it", "plan": {"tasks": tasks}},
        verification={"mode": "builtin_basic"},
    )
    del plan["package"]
    body = {"workflow": workflow([plan]), "clientId": "tests"}
    answer = served.http.post("/api/v1/runs", json=body)
    assert answer.status_code == 202, answer.text
    run = ended(served, answer.json()["runId"])
    assert run["status"] == "succeeded", run
    [shown] = run["nodes"]
    assert (shown["nodeId"], shown["result"]) == (uid("plan"), {"y": 7})
    tasks_seen = tasks_of(served, str(answer.json()["runId"]))
    assert {f"{uid('plan')}/a", f"{uid('plan')}/b"} <= tasks_seen.keys()
    [line] = served.http.get(f"/api/v1/runs/{answer.json()['runId']}/revisions").json()["items"]
    assert len(line["added"]) == 2

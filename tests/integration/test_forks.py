"""Forks: another run that keeps what one did before a task, and does the rest again."""

from typing import Any

from click.testing import CliRunner

from tests.hand import HandWorker
from tests.integration.conftest import TOKEN, Served
from tests.integration.test_plans import start
from windlass.cli.main import cli
from windlass.client import Client


def fork(served: Served, run_id: str, task: str, **more: Any) -> str:
    answer = served.http.post(f"/api/v1/runs/{run_id}/fork", json={"task": task, **more})
    assert answer.status_code == 202, answer.text
    return str(answer.json()["id"])


def attempts(served: Served, run_id: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = served.http.get(f"/api/v1/runs/{run_id}/attempts").json()["items"]
    return found


def test_a_plan_is_forked_from_a_task_with_another_input(served: Served) -> None:
    worker = HandWorker(served.http, "fork.worker")
    by = {"worker_profile": "fork.worker"}
    tasks = [
        {"alias": "a", "goal": "a", **by},
        {"alias": "b", "goal": "b", "depends_on": ["a"], "inputs": {"depth": 1}, **by},
        {"alias": "beside", "goal": "beside", "depends_on": ["a"], **by},
        {"alias": "c", "goal": "c", "depends_on": ["b", "beside"], "role": "final", **by},
    ]
    run_id = start(served, goal="fork me", plan={"tasks": tasks})
    for _ in tasks:
        taken = worker.take()
        worker.finish(taken, {"of": taken["input"]["task"]["alias"]})
    before = served.wait(run_id)
    assert (before["state"], before["output"]) == ("succeeded", {"of": "c"})

    forked = fork(served, run_id, "b", input={"depth": 2})
    again = worker.take()
    assert again["runId"] == forked
    assert again["input"]["task"]["alias"] == "b"
    assert again["input"]["task"]["inputs"] == {"depth": 2}
    assert again["input"]["predecessors"][0]["structured_output"] == {"of": "a"}
    board = served.http.get(f"/api/v1/runs/{forked}/blackboard").json()["items"]
    assert [row["key"] for row in again["input"]["blackboard"]]
    assert {row["key"] for row in again["input"]["blackboard"]} <= {row["key"] for row in board}
    worker.finish(again, {"of": "b, deeper"})
    last = worker.take()
    told = {p["alias"]: p["structured_output"]["of"] for p in last["input"]["predecessors"]}
    assert told == {"b": "b, deeper", "beside": "beside"}
    worker.finish(last, {"of": "c, deeper"})
    after = served.wait(forked)
    assert (after["state"], after["output"]) == ("succeeded", {"of": "c, deeper"})
    # The other run is as it was, and what it did is not done again.
    assert served.wait(run_id) == before
    rows = attempts(served, forked)
    assert len(rows) == 6
    assert all(row["id"].startswith(f"{forked}~") for row in rows)
    events = served.http.get(f"/api/v1/runs/{forked}/events").json()["items"]
    [said] = [event for event in events if event["type"] == "run.forked"]
    assert said["data"]["source"] == run_id
    twice = fork(served, forked, "c")
    worker.finish(worker.take(), {"of": "c of c"})
    assert served.wait(twice)["output"] == {"of": "c of c"}


def test_a_flow_is_forked_and_its_shared_keys_are_what_they_were(served: Served) -> None:
    worker = HandWorker(served.http, "fork.step")
    step = {"exec_type": "queue", "service": "fork.step"}
    nodes = {
        "one": {**step, "post": {"output_key": "first"}},
        "two": {**step, "prep": {"input_key": "$shared.first"}, "post": {"output_key": "second"}},
        "three": {**step, "prep": {"input_key": "$shared.second"}},
    }
    edges = [{"from": "one", "to": "two"}, {"from": "two", "to": "three"}]
    served.push("forked", {"start": "one", "nodes": nodes, "edges": edges})
    run_id = served.start("forked")
    for value in (1, 2, 3):
        worker.finish(worker.take(), value)
    assert served.wait(run_id)["shared"] == {"first": 1, "second": 2}
    forked = fork(served, run_id, "two", input={"edited": True})
    again = worker.take()
    assert (again["node"], again["input"]) == ("two", {"edited": True})
    worker.finish(again, 20)
    last = worker.take()
    assert (last["node"], last["input"]) == ("three", 20)
    worker.finish(last, 30)
    run = served.wait(forked)
    assert (run["state"], run["shared"]) == ("succeeded", {"first": 1, "second": 20})


def test_a_fork_is_made_once_for_a_key_and_refused_with_a_reason(served: Served) -> None:
    worker = HandWorker(served.http, "fork.once")
    tasks = [{"alias": "a", "goal": "a", "worker_profile": "fork.once"}]
    run_id = start(served, goal="fork me once", plan={"tasks": tasks})
    path = f"/api/v1/runs/{run_id}/fork"
    early = served.http.post(path, json={"task": "a"})
    assert (early.status_code, "once it has ended" in early.text) == (409, True)
    worker.finish(worker.take(), 1)
    served.wait(run_id)
    key = {"Idempotency-Key": f"fork-{run_id}"}
    first, second = (served.http.post(path, json={"task": "a"}, headers=key) for _ in range(2))
    assert first.json()["id"] == second.json()["id"]
    other = served.http.post(path, json={"task": "a", "input": {"x": 1}}, headers=key)
    assert other.status_code in (409, 422)
    nowhere = served.http.post(path, json={"task": "nowhere"})
    assert nowhere.status_code == 404
    planning = served.http.post(path, json={"task": "plan", "input": {}})
    assert (planning.status_code, "makes its own input" in planning.text) == (400, True)
    with Client(served.server.url, token=TOKEN) as client:
        mine = client.run(run_id).fork("a", {"n": 5})
        while (taken := worker.take())["runId"] != mine.id:
            worker.finish(taken, 2)
        assert taken["input"]["task"]["inputs"] == {"n": 5}
        worker.finish(taken, {"n": 6})
        assert served.wait(mine.id)["output"] == {"a": {"n": 6}}
    env = {"WINDLASS_URL": served.server.url, "WINDLASS_TOKEN": TOKEN}
    said = CliRunner().invoke(cli, ["run", "fork", run_id, "a", "--input", '{"n": 7}'], env=env)
    assert said.exit_code == 0, said.output
    taken = worker.take()
    assert (taken["runId"], taken["input"]["task"]["inputs"]) == (said.output.split()[0], {"n": 7})
    worker.finish(taken, 8)

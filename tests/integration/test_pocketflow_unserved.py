"""Calls of PocketFlow's flows that nobody is there for: they fail, after a while."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.integration.conftest import TOKEN
from tests.integration.test_pocketflow import Pocket
from tests.integration.test_pocketflow_clients import node_runs
from windlass.testing.processes import ServerProcess, started


@pytest.fixture(scope="module")
def pocket(module_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pocket]:
    log = Path(tmp_path_factory.mktemp("unserved")) / "server.log"
    server = ServerProcess(module_database, "--admin-token", TOKEN, "--no-worker-s", "1", log=log)
    headers = {"Authorization": f"Bearer {TOKEN}"}
    with started(server), httpx.Client(base_url=server.url, headers=headers, timeout=30) as http:
        yield Pocket(http)
    assert "Traceback" not in log.read_text()


def test_a_call_that_no_worker_is_there_for_fails_after_a_while(pocket: Pocket) -> None:
    nodes = {
        "a": {"service": "nowhere", "max_retries": 0},
        "b": {"exec_type": "local_func", "func": "mul", "post": {"output_key": "b"}},
    }
    edges = [{"from": "a", "action": "default", "to": "b"}]
    task_id = pocket.task(pocket.flow({"start": "a", "nodes": nodes, "edges": edges}))
    run_id = task_id.removeprefix("task-")
    why = pocket.http.get(f"/api/v1/runs/{run_id}/why").json()["line"]
    assert 'no live push worker serves "nowhere"; it fails after 1 s without one' in why
    pocket.until(task_id, "completed")
    first, second = node_runs(pocket, task_id)
    assert (first["status"], first["error_text"]) == ("error", "no worker")
    assert second["status"] == "ok"  # the edge is followed after a failure


def test_a_function_that_no_server_has_fails_for_good_after_a_while(pocket: Pocket) -> None:
    nodes = {
        "a": {"exec_type": "local_func", "func": "nowhere", "max_retries": 3},
        "b": {"exec_type": "local_func", "func": "mul", "post": {"output_key": "b"}},
    }
    edges = [{"from": "a", "action": "default", "to": "b"}]
    task_id = pocket.task(pocket.flow({"start": "a", "nodes": nodes, "edges": edges}))
    run_id = task_id.removeprefix("task-")
    why = pocket.http.get(f"/api/v1/runs/{run_id}/why").json()["line"]
    assert 'no server has a local function "nowhere"; it fails after 1 s without one' in why
    pocket.until(task_id, "completed")
    first, second = node_runs(pocket, task_id)
    assert (first["status"], first["error_text"]) == ("error", "fatal error")
    assert second["status"] == "ok"  # the edge is followed after a failure


def test_a_flow_of_ours_waits_for_its_worker(pocket: Pocket) -> None:
    body = {"definition": {"start": "a", "nodes": {"a": {"service": "later"}}}}
    assert pocket.http.post("/api/v1/flows/patient/versions", json=body).status_code == 201
    started = pocket.http.post("/api/v1/runs", json={"flow": "patient"}).json()["id"]
    theirs = pocket.task(pocket.flow({"start": "a", "nodes": {"a": {"service": "later"}}}))
    pocket.until(theirs, "failed")  # which began to wait after ours did
    run = pocket.http.get(f"/api/v1/runs/{started}").json()
    assert run["state"] == "running"

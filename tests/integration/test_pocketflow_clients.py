"""Programs of PocketFlow itself, request by request as they were seen to send them."""

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import httpx
import pytest

from tests.integration.conftest import TOKEN
from tests.integration.test_pocketflow import Pocket, complete, poll, queue_flow
from windlass.server.compat.pocketflow.definitions import branch_service
from windlass.testing.processes import ServerProcess, started

Json = dict[str, Any]
LEASE_S = 1.0
ORIGIN = "http://ui.internal"


@pytest.fixture(scope="module")
def pocket(module_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pocket]:
    folder = Path(tmp_path_factory.mktemp("pocket"))
    server = ServerProcess(
        module_database,
        "--admin-token",
        TOKEN,
        "--allow-scripts",
        "--lease-s",
        str(LEASE_S),
        "--cors-origin",
        ORIGIN,
        "--url-tokens",
        log=folder / "server.log",
    )
    headers = {"Authorization": f"Bearer {TOKEN}"}
    with started(server), httpx.Client(base_url=server.url, headers=headers, timeout=30) as http:
        yield Pocket(http)
    assert "Traceback" not in (folder / "server.log").read_text()


def node_runs(pocket: Pocket, task_id: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pocket.get("/tasks/runs", task_id=task_id).json()
    return found


def register_async(pocket: Pocket, worker: str, service: str) -> None:
    """As cmd/worker-async does."""
    body = {"id": worker, "url": "queue", "services": [service], "type": "async"}
    assert pocket.post("/workers/register", body).json() == {"ok": "1"}


def test_a_worker_that_sends_no_heartbeat_for_its_job_finishes_it_after_the_lease(
    pocket: Pocket,
) -> None:
    task_id = pocket.task(pocket.flow(queue_flow("slow")))
    register_async(pocket, "async-host-1", "slow")
    job = poll(pocket, "slow", "async-host-1")
    run_id = json.loads(job["input_json"])["run_id"]
    said = pocket.post("/queue/update_run", {"run_id": run_id, "status": "running"})
    assert said.json() == {"ok": "1"}
    # Until the sweep has taken it back, and nobody else has come for it.
    deadline = time.monotonic() + 10
    while not any(run["status"] == "error" for run in node_runs(pocket, task_id)):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    answer = complete(pocket, job, "done", log_path="/tmp/x.log", run_id=run_id, error="")
    assert answer.json() == {"ok": "1"}
    assert json.loads(pocket.until(task_id, "completed")["shared_json"]) == {"out": "done"}
    assert complete(pocket, job, "done", run_id=run_id, error="").json() == {"ok": "1"}


def test_a_workers_own_heartbeat_keeps_what_it_holds(pocket: Pocket) -> None:
    task_id = pocket.task(pocket.flow(queue_flow("kept")))
    register_async(pocket, "async-host-2", "kept")
    job = poll(pocket, "kept", "async-host-2")
    until = time.monotonic() + 3 * LEASE_S
    while time.monotonic() < until:
        time.sleep(LEASE_S / 10)  # often, as a busy machine may keep one of them waiting
        beat = pocket.post("/workers/heartbeat", {"id": "async-host-2", "url": "queue", "load": 0})
        assert beat.json() == {"ok": "1"}
    assert [run["status"] for run in node_runs(pocket, task_id)] == ["running"]
    assert complete(pocket, job, 1).json() == {"ok": "1"}
    pocket.until(task_id, "completed")


def test_a_worker_that_registers_again_no_longer_keeps_what_it_held_before(
    pocket: Pocket,
) -> None:
    task_id = pocket.task(pocket.flow(queue_flow("again")))
    register_async(pocket, "async-host-3", "again")
    poll(pocket, "again", "async-host-3")
    time.sleep(0.01)
    register_async(pocket, "async-host-3", "again")  # a new process under the same id
    deadline = time.monotonic() + 10
    while [run["status"] for run in node_runs(pocket, task_id)] == ["running"]:
        assert time.monotonic() < deadline
        pocket.post("/workers/heartbeat", {"id": "async-host-3", "url": "queue", "load": 0})
        time.sleep(0.1)
    job = poll(pocket, "again", "async-host-3")
    assert complete(pocket, job, 1).json() == {"ok": "1"}


def test_the_servers_own_executors_are_local(pocket: Pocket) -> None:
    prep = {"input_key": "$params.val"}
    nodes = {
        "f": {"exec_type": "local_func", "func": "mul", "params": {"mul": 2}, "prep": prep},
        "s": {
            "exec_type": "local_script",
            "script": {"cmd": "bash", "args": ["-c", "echo hello; echo oops >&2"]},
        },
    }
    edges = [{"from": "f", "action": "default", "to": "s"}]
    flow_id = pocket.flow({"start": "f", "nodes": nodes, "edges": edges})
    task_id = pocket.task(flow_id, {"val": 2})
    pocket.until(task_id, "completed")
    first, second = node_runs(pocket, task_id)
    assert (first["worker_id"], first["worker_url"]) == ("local-func:mul", "local")
    assert json.loads(first["prep_json"]) == {"input_key": "$params.val"}
    assert (second["worker_id"], second["worker_url"]) == ("local-script:bash", "local")
    logs = pocket.get("/tasks/logs", run_id=second["id"]).json()
    assert logs == {"content": "hello\noops\n"}
    # Its page shows a log only where there is a path.
    assert (first["log_path"], second["log_path"]) == ("", f"logs/tasks/{task_id}/s_1.log")
    [own] = [row for row in pocket.get("/workers/list").json() if row["type"] == "local"]
    assert own["url"] == "local"
    assert {"mul", "upper", "log_result"} <= set(own["services"])
    assert pocket.get("/workers/list", service="mul").json() == [own]


def test_what_a_worker_says_while_it_runs_is_read_here_too(pocket: Pocket) -> None:
    task_id = pocket.task(pocket.flow(queue_flow("talks")))
    exchange = {"services": ["talks"], "slots": 1, "waitMs": 5000}
    worker = {"id": "talker", "transport": "pull", "services": ["talks"], "capacity": 1}
    assert pocket.http.post("/api/v1/workers", json=worker).status_code == 200
    at = "/api/v1/workers/talker/exchange"
    [given] = pocket.http.post(at, json=exchange).json()["attempts"]
    said = {"attemptId": given["attemptId"], "token": given["token"], "offset": 0, "text": "so far"}
    told = pocket.http.post(at, json={"services": [], "said": [said]})
    assert told.status_code == 200, told.text
    [run] = node_runs(pocket, task_id)
    assert pocket.get("/tasks/logs", run_id=run["id"]).json() == {"content": "so far"}


def test_the_log_of_a_script_that_fails_is_kept_too(pocket: Pocket) -> None:
    script = {"code": "echo before; exit 3", "language": ""}
    node = {"exec_type": "local_script", "script": script}
    task_id = pocket.task(pocket.flow({"start": "s", "nodes": {"s": node}, "edges": []}))
    pocket.until(task_id, "failed")
    [run] = node_runs(pocket, task_id)
    assert pocket.get("/tasks/logs", run_id=run["id"]).json() == {"content": "before\n"}


def test_prep_json_says_what_each_kind_of_node_read(pocket: Pocket) -> None:
    local = {"exec_type": "local_func", "func": "mul"}
    nodes = {
        "t": {"kind": "timer", "params": {"delay_ms": 1}, "post": {"action_static": "n"}},
        "w": {"kind": "wait_event", "params": {"signal_key": "$params.go", "timeout_ms": 9000}},
        "e": {"kind": "foreach", **local, "prep": {"input_key": "$params.list"}},
        "sub": {
            "kind": "subflow",
            "subflow": {"start": "x", "nodes": {"x": {**local, "prep": {"input_key": "k"}}}},
        },
        "a": {"kind": "approval", "params": {"approval_key": "$params.ok"}},
    }
    order = ["t", "w", "e", "sub", "a"]
    edges = [
        {"from": one, "action": "n" if one == "t" else "default", "to": other}
        for one, other in pairwise(order)
    ]
    flow_id = pocket.flow({"start": "t", "nodes": nodes, "edges": edges})
    task_id = pocket.task(flow_id, {"go": True, "list": [1], "ok": True})
    pocket.until(task_id, "completed")
    prepared = [
        (run["node_key"], run["branch_id"], json.loads(run["prep_json"]))
        for run in node_runs(pocket, task_id)
    ]
    assert prepared == [
        ("t", "", {"delay_ms": 1}),
        ("w", "", {"signal_key": "$params.go"}),
        ("e", "0", {"branch": 0}),
        ("e", "", {"input_key": "$params.list"}),
        ("sub", "x", {"input_key": "k", "sub": "x"}),
        ("a", "", {"approval_key": "$params.ok"}),
    ]


def test_a_parallel_branch_goes_by_the_service_it_calls(pocket: Pocket) -> None:
    """The spec: branch runs have sub_status `branch_complete` and branch_id = service."""
    calls = [
        {"exec_type": "local_func", "func": "mul", "params": {"mul": 2}},
        {"exec_type": "local_func", "func": "log_result"},
    ]
    node = {"kind": "parallel", "prep": {"input_key": "$params.val"}, "parallel_execs": calls}
    task_id = pocket.task(
        pocket.flow({"start": "p", "nodes": {"p": node}, "edges": []}), {"val": 2}
    )
    pocket.until(task_id, "completed")
    told = [
        (run["node_key"], run["sub_status"], run["branch_id"]) for run in node_runs(pocket, task_id)
    ]
    assert sorted(told) == [
        ("p", "", ""),
        ("p", "branch_complete", "log_result"),
        ("p", "branch_complete", "mul"),
    ]


@pytest.mark.parametrize(
    ("node", "names"),
    [
        ({"parallel_execs": [{"service": "a"}, {"Func": "b"}, {}]}, ["a", "b", "2"]),
        ({"service": "s", "parallel_execs": [{"params": {}}, {"service": "a"}]}, ["s", "a"]),
        ({"parallel_services": ["a", "b"]}, ["a", "b"]),
        ({"params": {"services": ["a", 5]}}, ["a", "1"]),
        ({}, ["0"]),
    ],
)
def test_branches_are_named_however_they_are_written(node: Json, names: list[str]) -> None:
    assert [branch_service(node, index) for index in range(len(names))] == names


def test_a_waits_time_out_says_timeout(pocket: Pocket) -> None:
    params = {"signal_key": "$shared.flag", "timeout_ms": 20}
    node = {"kind": "wait_event", "params": params, "post": {"action_static": "next"}}
    task_id = pocket.task(pocket.flow({"start": "w", "nodes": {"w": node}, "edges": []}))
    pocket.until(task_id, "failed")
    [run] = node_runs(pocket, task_id)
    assert (run["status"], run["error_text"]) == ("error", "timeout")


def test_a_versions_status_is_as_given(pocket: Pocket) -> None:
    flow_id = pocket.post("/flows", {"Name": "statuses"}).json()["id"]
    node = {"exec_type": "local_func", "func": "mul"}
    text = json.dumps({"start": "a", "nodes": {"a": node}, "edges": []})
    for number, status in enumerate(("published", "", "archived"), start=1):
        body = {"FlowID": flow_id, "Version": number, "DefinitionJSON": text, "Status": status}
        made = pocket.post("/flows/version", body).json()["id"]
        assert pocket.get("/flows/version/get", id=made).json()["status"] == status
    started = pocket.post("/tasks", {"FlowID": flow_id}).json()["id"]
    assert pocket.get("/tasks/get", id=started).json()["flow_version"] == 1
    named = pocket.post("/tasks", {"FlowID": flow_id, "Version": 3}).json()["id"]
    assert pocket.get("/tasks/get", id=named).json()["flow_version"] == 3


def test_a_request_id_gives_the_same_task_after_a_new_version(pocket: Pocket) -> None:
    flow_id = pocket.flow(
        {"start": "a", "nodes": {"a": {"exec_type": "local_func", "func": "mul"}}}
    )
    body = {"FlowID": flow_id, "ParamsJSON": "{}", "request_id": "once"}
    first = pocket.post("/tasks", body).json()["id"]
    node = {"exec_type": "local_func", "func": "upper"}
    text = json.dumps({"start": "a", "nodes": {"a": node}})
    newer = {"FlowID": flow_id, "Version": 2, "DefinitionJSON": text, "Status": "published"}
    assert pocket.post("/flows/version", newer).status_code == 200
    again = pocket.post("/tasks", body)
    assert (again.status_code, again.json()) == (200, {"id": first})
    other = pocket.post("/tasks", {**body, "ParamsJSON": '{"a":1}'})
    assert other.status_code == 409


def test_a_signal_to_an_ended_task_is_no_mistake(pocket: Pocket) -> None:
    node = {"exec_type": "local_func", "func": "mul"}
    task_id = pocket.task(pocket.flow({"start": "a", "nodes": {"a": node}}))
    pocket.until(task_id, "completed")
    answer = pocket.post("/tasks/signal", {"task_id": task_id, "key": "k", "value": 1})
    assert (answer.status_code, answer.json()) == (200, {"ok": "1"})


def test_a_task_nobody_has_is_not_found_and_the_beginning_of_an_id_is_none(
    pocket: Pocket,
) -> None:
    task_id = pocket.task(pocket.flow(queue_flow("whole")))
    for given in ("task-none", "", "task-00000000-0000-7000-8000-000000000000", task_id[:20]):
        refused = [
            pocket.get("/tasks/get", id=given),
            pocket.get("/tasks/runs", task_id=given),
            pocket.post(f"/tasks/cancel?id={given}"),
            pocket.post(f"/tasks/run_once?id={given}"),
        ]
        if given:
            refused.append(pocket.post("/tasks/signal", {"task_id": given, "key": "k"}))
        for answer in refused:
            assert (answer.status_code, answer.json()) == (404, {"error": "not found"}), given
    assert pocket.get("/tasks/get", id=task_id).json()["status"] == "waiting_queue"


def test_refusals_are_plain(pocket: Pocket) -> None:
    missing = pocket.get("/nowhere")
    assert (missing.status_code, missing.text) == (404, "404 page not found\n")
    assert missing.headers["content-type"].startswith("text/plain")
    flows = pocket.http.put("/api/flows")
    assert (flows.status_code, flows.json()) == (405, {"error": "method"})
    queue = pocket.http.get("/api/queue/poll")
    assert (queue.status_code, queue.json()) == (405, {"error": "method not allowed"})
    flow_id = pocket.post("/flows", {"Name": "yaml"}).json()["id"]
    bad = pocket.post("/flows/version", {"FlowID": flow_id, "DefinitionYAML": "a: [1"})
    assert bad.status_code == 400
    assert bad.json()["error"].startswith("invalid yaml: ")
    ours = pocket.http.get("/api/v1/nowhere")
    assert ours.headers["content-type"].startswith("application/problem+json")


def test_pages_of_500_are_served(pocket: Pocket) -> None:
    assert pocket.get("/tasks", page_size=500).json()["size"] == 500


def test_an_operator_that_lacks_an_operand_is_false(pocket: Pocket) -> None:
    local = {"exec_type": "local_func", "func": "mul"}
    cases = [{"action": "x", "expr": {"eq": ["$params.a"]}}, {"action": "y", "expr": {"gt": []}}]
    nodes = {
        "c": {"kind": "choice", "choice_cases": cases, "default_action": "z"},
        "x": local,
        "y": local,
        "z": {**local, "post": {"output_key": "z"}},
    }
    edges = [{"from": "c", "action": name, "to": name} for name in "xyz"]
    task_id = pocket.task(pocket.flow({"start": "c", "nodes": nodes, "edges": edges}))
    assert list(json.loads(pocket.until(task_id, "completed")["shared_json"])) == ["z"]


def test_a_cancelled_attempt_stands_among_the_node_runs(pocket: Pocket) -> None:
    task_id = pocket.task(pocket.flow(queue_flow("held")))
    register_async(pocket, "async-host-4", "held")
    job = poll(pocket, "held", "async-host-4")
    assert pocket.post(f"/tasks/cancel?id={task_id}").json() == {"ok": "1"}
    complete(pocket, job, None, error="stopped")
    pocket.until(task_id, "canceled")
    [run] = node_runs(pocket, task_id)
    assert (run["status"], run["action"]) == ("canceled", "canceled")


def test_web_pages_of_an_allowed_origin_may_call(pocket: Pocket) -> None:
    asked = pocket.http.options("/api/tasks", headers={"Origin": ORIGIN})
    assert asked.status_code == 204
    assert asked.headers["access-control-allow-origin"] == ORIGIN
    assert asked.headers["access-control-allow-headers"] == "Content-Type, Authorization"
    answer = pocket.http.get("/api/tasks", headers={"Origin": ORIGIN})
    assert answer.headers["access-control-allow-origin"] == ORIGIN
    stranger = pocket.http.get("/api/tasks", headers={"Origin": "http://elsewhere"})
    assert "access-control-allow-origin" not in stranger.headers
    native = pocket.http.get("/api/v1/runs", headers={"Origin": ORIGIN})
    assert "access-control-allow-origin" not in native.headers


def test_a_token_may_stand_in_the_address(pocket: Pocket) -> None:
    with httpx.Client(base_url=pocket.http.base_url) as plain:
        assert plain.get("/api/tasks").status_code == 401
        assert plain.get(f"/t/{TOKEN}/api/tasks").status_code == 200
        assert plain.get("/api/tasks", params={"token": TOKEN, "page_size": 1}).json()["size"] == 1
        assert plain.get("/t/wrong/api/tasks").status_code == 401
        # It is for this surface's clients; ours can say it in a header.
        assert plain.get("/api/v1/runs", params={"token": TOKEN}).status_code == 401
        assert plain.get(f"/t/{TOKEN}/api/v1/runs").status_code != 200


class PushWorker:
    """A worker that answers `/exec/<service>` as cmd/worker does, with its own name."""

    def __init__(self, name: str) -> None:
        self.name = name
        worker = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                body = json.dumps({"result": worker.name}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def test_the_load_a_worker_reports_counts_from_then_on(pocket: Pocket) -> None:
    node = {"service": "weighed", "weighted_by_load": True, "post": {"output_key": "by"}}
    flow_id = pocket.flow({"start": "a", "nodes": {"a": node}, "edges": []})

    def chosen() -> str:
        done = pocket.until(pocket.task(flow_id), "completed")
        return str(json.loads(done["shared_json"])["by"])

    with PushWorker("one") as one, PushWorker("two") as two:
        for worker in (one, two):
            body = {"id": worker.name, "url": worker.url, "services": ["weighed"], "type": "http"}
            assert pocket.post("/register", body).json() == {"ok": "1"}
        for idle, busy in ((one, two), (two, one)):
            for worker, load in ((idle, 0), (busy, 9)):
                beat = {"id": worker.name, "url": worker.url, "load": load}
                assert pocket.post("/heartbeat", beat).json() == {"ok": "1"}
            deadline = time.monotonic() + 10
            while chosen() != idle.name:
                assert time.monotonic() < deadline
            assert [chosen() for _ in range(4)] == [idle.name] * 4

"""A server that has just started knows no run by heart, and handles large ones all the same."""

import socket
from pathlib import Path
from typing import Any

import httpx

from tests.integration.conftest import TOKEN, Served
from windlass.testing.processes import ServerProcess, started

BRANCHES = 150


def fan(**extra: Any) -> dict[str, Any]:
    node = {
        "kind": "foreach",
        "exec_type": "queue",
        "service": "held",
        "prep": {"input_key": "$params.items"},
        "parallel_mode": "concurrent",
        **extra,
    }
    return {"start": "a", "nodes": {"a": node}, "edges": []}


def hold(http: httpx.Client, count: int) -> list[dict[str, Any]]:
    jobs: list[dict[str, Any]] = []
    while len(jobs) < count:
        body = {"worker_id": "w", "services": ["held"], "max": 200, "wait_ms": 2000}
        answer = http.post("/queue/poll", json=body)
        assert answer.status_code == 200
        jobs += answer.json()["tasks"]
    return jobs


def test_what_many_workers_hold_can_be_cancelled_after_a_restart(fresh_database: str) -> None:
    server = ServerProcess(fresh_database, "--admin-token", TOKEN)
    with started(server):
        found = Served(server, "")
        found.push("fan", fan())
        found.push("fast", fan(failure_strategy="fail_fast"))
        runs = [found.start(name, {"items": list(range(BRANCHES))}) for name in ("fan", "fast")]
        jobs = hold(found.http, 2 * BRANCHES)
        server.kill()
        server.start()
        assert found.http.post(f"/api/v1/runs/{runs[0]}/cancel", json={}).status_code == 202
        fast = next(job for job in jobs if job["task_id"].endswith(runs[1]))
        failed = {"queue_id": fast["id"], "error": "no"}
        assert found.http.post("/queue/complete", json=failed).status_code == 200
        assert found.wait(runs[1])["state"] == "failed"
        assert found.wait(runs[0])["state"] == "cancelled"
        found.http.close()


def test_a_node_that_reads_many_shared_keys_is_reached_after_a_restart(fresh_database: str) -> None:
    server = ServerProcess(fresh_database, "--admin-token", TOKEN)
    with started(server):
        found = Served(server, "")
        keys = {f"k{number}": f"$shared.k{number}" for number in range(120)}
        nodes = {
            "wait": {"kind": "wait_event", "params": {"signal_key": "$shared.go"}},
            "read": {
                "exec_type": "local_func",
                "func": "log_result",
                "prep": {"input_map": keys},
                "post": {"output_key": "seen"},
            },
        }
        edges = [{"from": "wait", "to": "read"}]
        found.push("many", {"start": "wait", "nodes": nodes, "edges": edges})
        run_id = found.start("many")
        path = f"/api/v1/runs/{run_id}/signal"
        found.http.post(path, json={"key": "k7", "value": 7})
        server.kill()
        server.start()
        assert found.http.post(path, json={"key": "go", "value": 1}).status_code == 200
        run: Any = found.wait(run_id)
        assert (run["state"], run["shared"]["seen"]["k7"]) == ("succeeded", 7)
        found.http.close()


def test_names_no_queue_can_have_are_refused_at_the_door(served: Served) -> None:
    for services in (["a\0b"], ["x" * 1000], [f"s{number}" for number in range(1000)]):
        body = {"worker_id": "w", "services": services, "wait_ms": 10}
        assert served.http.post("/queue/poll", json=body).status_code == 400
    assert served.http.get("/healthz").status_code == 200


def test_values_no_database_can_keep_are_refused_or_mended(served: Served) -> None:
    node = {"exec_type": "queue", "service": "nul", "post": {"action_key": "go"}}
    served.push("nul", {"start": "a", "nodes": {"a": node}, "edges": []})
    run_id = served.start("nul")
    body = {"worker_id": "w", "services": ["nul"], "wait_ms": 5000}
    job = served.http.post("/queue/poll", json=body).json()
    result = {"queue_id": job["id"], "result": {"go": "a\0b"}, "log": "x\0y"}
    assert served.http.post("/queue/complete", json=result).status_code == 200
    assert served.wait(run_id)["state"] == "succeeded"
    for bad in ({"key": "a\0b", "value": 1}, {"key": "k" * 8000, "value": 1}):
        answer = served.http.post(f"/api/v1/runs/{run_id}/signal", json=bad)
        assert answer.status_code == 400, answer.text
    huge = {"flow": "nul", "priority": 2**70}
    assert served.http.post("/api/v1/runs", json=huge).status_code == 400
    assert served.http.get("/api/v1/runs?limit=--5").status_code == 400
    assert served.http.get("/api/v1/runs?q=-nul").status_code == 400
    deep = "~" * 40_000
    answer = served.http.post("/queue/complete", json={"queue_id": f"q-{deep}@1", "result": 1})
    assert answer.status_code in (400, 404, 409)


def test_a_key_means_the_same_request_whatever_was_published_since(served: Served) -> None:
    wait = {"kind": "wait_event", "params": {"signal_key": "$shared.x"}}
    served.push("again", {"start": "w", "nodes": {"w": wait}, "edges": []})
    headers = {"Idempotency-Key": f"again-{served.server.port}"}
    first = served.http.post("/api/v1/runs", json={"flow": "again"}, headers=headers)
    served.push("again", {"start": "v", "nodes": {"v": wait}, "edges": []})
    second = served.http.post("/api/v1/runs", json={"flow": "again"}, headers=headers)
    assert second.status_code == 202
    assert second.json()["id"] == first.json()["id"]


def test_a_silent_push_worker_loses_its_work(tmp_path: Path) -> None:
    """It accepts the call, never answers, and sends no heartbeat."""
    server = ServerProcess(
        f"sqlite:///{tmp_path / 'c.db'}", "--admin-token", TOKEN, "--lease-s", "2"
    )
    with started(server), socket.create_server(("127.0.0.1", 0)) as mute:
        found = Served(server, "")
        url = f"http://127.0.0.1:{mute.getsockname()[1]}"
        body = {"ID": "mute", "URL": url, "Services": ["gone"], "Type": "http"}
        assert found.http.post("/workers/register", json=body).status_code == 200
        node = {"service": "gone", "max_attempts": 1}
        found.push("gone", {"start": "a", "nodes": {"a": node}, "edges": []})
        run_id = found.start("gone")
        assert found.wait(run_id, 45)["state"] == "failed"
        found.http.close()

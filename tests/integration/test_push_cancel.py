"""Cancelling and timing out reach a push worker's handler, and a refused token moves the work."""

import os
import time
from pathlib import Path

from tests.integration.conftest import TOKEN, Served
from tests.integration.test_recovery import SERVICES
from windlass.testing.processes import Process, ServerProcess, started, wait_until, worker_process


def push_worker(server: ServerProcess, effects: Path, *args: str) -> Process:
    os.environ["EFFECTS"] = str(effects)
    return worker_process(
        "slow_services:worker", server.url, "push", *args, token=TOKEN, path=[SERVICES]
    )


def test_a_cancelled_run_stops_the_handler_of_a_push_worker(tmp_path: Path) -> None:
    effects = tmp_path / "effects"
    effects.touch()
    server = ServerProcess(f"sqlite:///{tmp_path / 'a.db'}", "--admin-token", TOKEN)
    with started(server, push_worker(server, effects)):
        found = Served(server, "")
        node = {"service": "sleepy", "params": {"seconds": 30}}
        found.push("long", {"start": "a", "nodes": {"a": node}, "edges": []})
        run_id = found.start("long")
        wait_until(effects.read_text)
        began = time.monotonic()
        found.http.post(f"/api/v1/runs/{run_id}/cancel", json={})
        assert found.wait(run_id)["state"] == "cancelled"
        wait_until(lambda: "stopped" in effects.read_text(), 5)
        assert time.monotonic() - began < 5
        found.http.close()


def test_a_node_that_takes_too_long_stops_the_handler_and_takes_its_timeout_edge(
    tmp_path: Path,
) -> None:
    effects = tmp_path / "effects"
    effects.touch()
    server = ServerProcess(f"sqlite:///{tmp_path / 'b.db'}", "--admin-token", TOKEN)
    with started(server, push_worker(server, effects)):
        found = Served(server, "")
        slow = {"service": "sleepy", "params": {"seconds": 30}, "timeout_ms": 500}
        after = {"kind": "timer", "params": {"delay_ms": 0}}
        edges = [{"from": "a", "action": "timeout", "to": "late"}]
        found.push("slow", {"start": "a", "nodes": {"a": slow, "late": after}, "edges": edges})
        run = found.run("slow")
        assert run["state"] == "succeeded"
        wait_until(lambda: "stopped" in effects.read_text(), 5)
        found.http.close()

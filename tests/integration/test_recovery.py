"""Whatever is killed at whatever moment, every run ends right and no result counts twice."""

import os
import time
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.integration.conftest import TOKEN, Served
from windlass.testing import servers
from windlass.testing.processes import (
    Process,
    ServerProcess,
    started,
    wait_until,
    worker_process,
)

SERVICES = Path(__file__).parent / "services"
RUNS = 60


@pytest.fixture
def effects(tmp_path: Path) -> Path:
    file = tmp_path / "effects"
    file.touch()
    return file


def server_on(db: str, tmp_path: Path, lease_s: str = "2") -> ServerProcess:
    return ServerProcess(
        db, "--admin-token", TOKEN, "--lease-s", lease_s, log=tmp_path / "server.log"
    )


def worker_on(server: ServerProcess, effects: Path, name: str, *args: str) -> Process:
    os.environ["EFFECTS"] = str(effects)
    return worker_process(
        "slow_services:worker",
        server.url,
        "pull",
        "--id",
        name,
        *args,
        token=TOKEN,
        path=[SERVICES],
        log=effects.with_suffix(".log"),
    )


def chain(length: int) -> dict[str, Any]:
    nodes = {
        f"n{i}": {
            "exec_type": "queue",
            "service": "step",
            "prep": {"input_key": "$params.x"},
            "post": {"output_key": f"r{i}"},
        }
        for i in range(length)
    }
    edges = [{"from": f"n{i}", "action": "default", "to": f"n{i + 1}"} for i in range(length - 1)]
    return {"start": "n0", "nodes": nodes, "edges": edges}


def check_all_right(found: Served, ids: list[str], length: int) -> None:
    for run_id in ids:
        run = found.wait(run_id)
        assert run["state"] == "succeeded", run
        tasks = found.http.get(f"/api/v1/runs/{run_id}/tasks").json()["items"]
        assert [task["state"] for task in tasks] == ["succeeded"] * length
        attempts = found.http.get(f"/api/v1/runs/{run_id}/attempts").json()["items"]
        accepted = Counter(a["taskId"] for a in attempts if a["state"] == "succeeded")
        assert set(accepted.values()) == {1}


def test_a_killed_server_goes_on_where_it_was(
    fresh_database: str, tmp_path: Path, effects: Path
) -> None:
    server = server_on(fresh_database, tmp_path)
    with started(server, worker_on(server, effects, "w1", "--concurrency", "8")):
        found = Served(server, fresh_database)
        found.push("chain", chain(3))
        ids = [found.start("chain", {"x": number}) for number in range(RUNS)]
        for _ in range(3):
            time.sleep(0.15)
            server.kill()
            server.start()
        check_all_right(found, ids, 3)
        found.http.close()


def test_a_killed_worker_loses_its_work_to_another(
    fresh_database: str, tmp_path: Path, effects: Path
) -> None:
    server = server_on(fresh_database, tmp_path)
    first = worker_on(server, effects, "w1", "--concurrency", "4")
    second = worker_on(server, effects, "w2", "--concurrency", "4")
    with started(server, first, second):
        found = Served(server, fresh_database)
        found.push("chain", chain(3))
        ids = [found.start("chain", {"x": number}) for number in range(RUNS)]
        wait_until(lambda: len(effects.read_text().splitlines()) > 20)
        first.kill()
        check_all_right(found, ids, 3)
        found.http.close()


def test_two_servers_share_the_work_of_one_database(
    postgres_url: str, tmp_path: Path, effects: Path
) -> None:
    one, two = server_on(postgres_url, tmp_path), server_on(postgres_url, tmp_path)
    with started(
        one,
        two,
        worker_on(one, effects, "w1", "--concurrency", "8"),
        worker_on(two, effects, "w2", "--concurrency", "8"),
    ):
        first, second = Served(one, postgres_url), Served(two, postgres_url)
        first.push("chain", chain(4))
        ids = [
            (first if number % 2 else second).start("chain", {"x": number})
            for number in range(RUNS)
        ]
        check_all_right(second, ids, 4)
        # Nobody died, so every task was begun exactly once.
        lines = Counter(line.split()[0] for line in effects.read_text().splitlines())
        assert len(lines) == RUNS * 4
        assert set(lines.values()) == {1}
        first.http.close()
        second.http.close()


def test_a_database_that_restarts_loses_nothing(tmp_path: Path, effects: Path) -> None:
    with servers.postgres(durable=True) as database:
        url = database.new_database()
        server = server_on(url, tmp_path)
        with started(server, worker_on(server, effects, "w1", "--concurrency", "8")):
            found = Served(server, url)
            found.push("chain", chain(3))
            ids = [found.start("chain", {"x": number}) for number in range(RUNS)]
            for _ in range(2):
                time.sleep(0.2)
                database.restart()
            check_all_right(found, ids, 3)
            found.http.close()


def test_a_long_blocking_handler_keeps_its_lease(
    fresh_database: str, tmp_path: Path, effects: Path
) -> None:
    server = server_on(fresh_database, tmp_path, lease_s="1")
    with started(server, worker_on(server, effects, "w1")):
        found = Served(server, fresh_database)
        node = {"exec_type": "queue", "service": "sleepy", "params": {"seconds": 4}}
        found.push("long", {"start": "a", "nodes": {"a": node}, "edges": []})
        run = found.run("long")
        assert run["state"] == "succeeded"
        assert len(effects.read_text().splitlines()) == 1
        found.http.close()


def test_a_cancel_reaches_a_running_handler(
    fresh_database: str, tmp_path: Path, effects: Path
) -> None:
    server = server_on(fresh_database, tmp_path)
    with started(server, worker_on(server, effects, "w1")):
        found = Served(server, fresh_database)
        node = {"exec_type": "queue", "service": "sleepy", "params": {"seconds": 30}}
        found.push("long", {"start": "a", "nodes": {"a": node}, "edges": []})
        run_id = found.start("long")
        wait_until(lambda: effects.read_text())
        found.http.post(f"/api/v1/runs/{run_id}/cancel", json={})
        run = found.wait(run_id)
        assert run["state"] == "cancelled"
        wait_until(lambda: "stopped" in effects.read_text(), 5)
        found.http.close()


def test_sigterm_lets_a_worker_finish_what_it_holds(
    fresh_database: str, tmp_path: Path, effects: Path
) -> None:
    server = server_on(fresh_database, tmp_path)
    worker = worker_on(server, effects, "w1")
    with started(server, worker):
        found = Served(server, fresh_database)
        node = {"exec_type": "queue", "service": "sleepy", "params": {"seconds": 1.5}}
        found.push("drain", {"start": "a", "nodes": {"a": node}, "edges": []})
        run_id = found.start("drain")
        wait_until(lambda: effects.read_text())
        assert worker.stop() == 0
        assert found.wait(run_id, 1)["state"] == "succeeded"
        assert len(effects.read_text().splitlines()) == 1
        workers = found.http.get("/api/v1/workers").json()["items"]
        assert [w["state"] for w in workers if w["id"] == "w1"] == ["offline"]
        found.http.close()


def test_workers_return_after_the_database_was_emptied(tmp_path: Path, effects: Path) -> None:
    file = tmp_path / "windlass.db"
    server = server_on(f"sqlite:///{file}", tmp_path)
    with started(server, worker_on(server, effects, "w1")):
        server.kill()
        for path in tmp_path.glob("windlass.db*"):
            path.unlink()
        server.start()
        found = Served(server, "")

        def is_back() -> bool:
            items = found.http.get("/api/v1/workers").json()["items"]
            return any(item["id"] == "w1" for item in items)

        wait_until(is_back, 30)
        found.http.close()


def test_a_server_refuses_a_newer_schema(tmp_path: Path) -> None:
    import sqlite3

    file = tmp_path / "newer.db"
    with sqlite3.connect(file) as db:
        db.execute("pragma user_version = 999")
    process = Process(
        "server", "--db", f"sqlite:///{file}", "--no-auth", log=tmp_path / "refused.log"
    )
    process.start()
    assert process.wait(20) == 5
    assert "schema 999" in (tmp_path / "refused.log").read_text()


def test_health_says_when_the_database_is_away(tmp_path: Path) -> None:
    with servers.postgres() as database:
        server = server_on(database.new_database(), tmp_path)
        with started(server):
            database.stop()
            assert httpx.get(f"{server.url}/healthz").status_code == 200
            assert httpx.get(f"{server.url}/readyz", timeout=30).status_code == 503
            database.start()

            def is_ready() -> bool:
                return httpx.get(f"{server.url}/readyz", timeout=30).status_code == 200

            wait_until(is_ready)

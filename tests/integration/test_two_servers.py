"""Two servers on one database, SQLite or PostgreSQL: what one does is seen through the other."""

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

from tests.integration.conftest import TOKEN, Served
from tests.integration.test_recovery import SERVICES
from tests.packages import archive
from windlass.testing import servers
from windlass.testing.processes import ServerProcess, started, wait_until, worker_process


class Two(NamedTuple):
    here: Served
    there: Served
    effects: Path


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def two(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    postgres_server: servers.PostgresServer,
) -> Iterator[Two]:
    """Two servers; a pull worker with one slot is connected to the second."""
    folder = tmp_path_factory.mktemp("two")
    sqlite = f"sqlite:///{folder / 'windlass.db'}"
    db = sqlite if request.param == "sqlite" else postgres_server.new_database()
    log, effects = folder / "log", folder / "effects"
    effects.touch()
    os.environ["EFFECTS"] = str(effects)
    here, there = (ServerProcess(db, "--admin-token", TOKEN, log=log) for _ in range(2))
    worker = worker_process(
        "slow_services:worker",
        there.url,
        "pull",
        "--concurrency",
        "1",
        token=TOKEN,
        path=[SERVICES],
        log=log,
    )
    with started(here), started(there), started(worker):
        pair = Two(Served(here, db), Served(there, db), effects)
        yield pair
        pair.here.http.close()
        pair.there.http.close()


def flow(seconds: float) -> dict[str, object]:
    node = {"exec_type": "queue", "service": "sleepy", "params": {"seconds": seconds}}
    return {"start": "a", "nodes": {"a": node}, "edges": []}


@pytest.mark.alone
def test_a_cancel_reaches_a_busy_worker_of_the_other_server_within_a_second(two: Two) -> None:
    two.here.push("long", flow(60))
    run_id = two.here.start("long")
    wait_until(lambda: run_id in two.effects.read_text(), 10)
    time.sleep(1)  # the worker's only slot is busy, and it listens
    began = time.monotonic()
    two.here.http.post(f"/api/v1/runs/{run_id}/cancel", json={}).raise_for_status()
    wait_until(lambda: f"stopped {run_id}" in two.effects.read_text(), 10)
    assert time.monotonic() - began < 1
    assert two.there.wait(run_id)["state"] == "cancelled"


def test_whoever_waits_for_a_run_here_hears_of_its_end_there(two: Two) -> None:
    two.here.push("wait", {"start": "a", "nodes": {"a": WAIT}, "edges": []})
    run_id = two.here.start("wait")
    heard: list[float] = []

    def wait() -> None:
        assert two.here.wait(run_id)["state"] == "succeeded"
        heard.append(time.monotonic())

    waiting = threading.Thread(target=wait)
    waiting.start()
    time.sleep(0.3)
    began = time.monotonic()
    body = {"key": "go", "value": 1}
    two.there.http.post(f"/api/v1/runs/{run_id}/signal", json=body).raise_for_status()
    waiting.join(10)
    assert heard[0] - began < 0.6


WAIT = {"kind": "wait_event", "params": {"signal_key": "$shared.go"}}


@pytest.mark.alone
def test_a_stream_here_tells_at_once_what_was_committed_there(two: Two) -> None:
    two.here.push("wait", {"start": "a", "nodes": {"a": WAIT}, "edges": []})
    run_id = two.here.start("wait")
    headers = {"Authorization": f"Bearer {TOKEN}", "Accept": "text/event-stream"}
    url = f"{two.here.server.url}/api/v1/runs/{run_id}/events"
    with httpx.stream("GET", url, headers=headers, timeout=10) as stream:
        lines = stream.iter_lines()
        next(line for line in lines if "run.started" in line)
        began = time.monotonic()
        body = {"key": "go", "value": 1}
        two.there.http.post(f"/api/v1/runs/{run_id}/signal", json=body).raise_for_status()
        next(line for line in lines if "signal.received" in line)
        assert time.monotonic() - began < 0.6


def test_a_package_and_an_upload_of_one_server_are_fetched_through_the_other(
    postgres_server: servers.PostgresServer, tmp_path: Path
) -> None:
    """Two machines: they share a database and no folder."""
    db = postgres_server.new_database()
    here, there = (
        ServerProcess(db, "--admin-token", TOKEN, "--data-dir", str(tmp_path / name))
        for name in ("here", "there")
    )
    with started(here), started(there):
        first, second = Served(here, db).http, Served(there, db).http
        with first, second:
            assert first.get("/api/v1/info").json()["blobs"] == "database"
            package = archive(name="shared")
            sent = first.post("/api/v1/published-packages", files={"file": ("p.cwx", package)})
            assert sent.status_code == 201, sent.text
            assert second.get("/api/v1/published-packages/shared/archive").content == package
            content = b"half and half"
            begun = {"filename": "f", "sizeBytes": len(content), "chunkSize": 7}
            upload = first.post("/api/v1/resources/uploads", json=begun).json()["uploadId"]
            at = f"/api/v1/resources/uploads/{upload}"
            for number, http in enumerate((first, second)):
                part = content[7 * number :][:7]
                assert http.put(f"{at}/parts/{number}", content=part).status_code == 200
            done = second.post(f"{at}/complete", json={})
            assert done.status_code == 200, done.text
            assert first.get(f"/api/v1/resources/{upload}/download").content == content

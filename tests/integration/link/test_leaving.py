"""A worker that is stopped is seen to be gone at once; one that is cut off may come back."""

import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.conftest import TOKEN, Served
from windlass.testing.processes import Process, started, wait_until, worker_process

WITHIN_S = 1.0
Json = dict[str, Any]


@pytest.fixture
def worker(served: Served, tmp_path: Path) -> Iterator[Process]:
    folders = ("--packages-dir", str(tmp_path / "packages"), "--data-dir", str(tmp_path / "data"))
    process = worker_process(
        "builtin", served.server.url, "link", "--id", "leaving", *folders, token=TOKEN
    )
    with started(process):
        wait_until(lambda: shown(served).get("connected") is True)
        yield process


def shown(served: Served) -> Json:
    found: Json = served.http.get("/api/v1/workers/leaving").json()
    return found


def until_cut(served: Served) -> tuple[float, Json]:
    """How long it is shown as connected, and how it is shown then."""
    began = time.monotonic()
    while (found := shown(served))["connected"]:
        assert time.monotonic() - began < 10 * WITHIN_S
        time.sleep(0.02)
    return time.monotonic() - began, found


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_worker_that_is_stopped_is_offline_within_a_second(
    served: Served, worker: Process, number: int
) -> None:
    worker.signal(number)
    took, _ = until_cut(served)
    assert took < WITHIN_S
    wait_until(lambda: shown(served)["state"] == "offline", WITHIN_S)
    listed = served.http.get("/api/v1/workers", params={"connected": "true"}).json()["items"]
    assert "leaving" not in [row["id"] for row in listed]
    assert worker.wait(10) == 0


def test_a_worker_that_is_cut_off_is_not_connected_and_may_come_back(
    served: Served, worker: Process
) -> None:
    worker.kill()
    took, found = until_cut(served)
    assert took < WITHIN_S
    assert found["state"] == "online"
    worker.start()
    wait_until(lambda: shown(served)["connected"])

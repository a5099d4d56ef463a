"""Limits by key with real processes: two servers on one database, workers that are killed."""

import asyncio
import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import asyncpg
import httpx
import pytest

from tests.integration.conftest import TOKEN, Served
from tests.integration.test_recovery import SERVICES
from windlass.testing import servers
from windlass.testing.processes import Process, ServerProcess, started, wait_until, worker_process

LEASE_S = 2
RATE = 50
SLICE_S = int(os.environ.get("WINDLASS_RATE_SLICE_S", "10"))
"""A minute of it is what the promise is about; that is too long for every run of the tests."""


class Life(NamedTuple):
    """From when to when an attempt held its place, by the database's clock."""

    began: int
    ended: int


class Two(NamedTuple):
    here: Served
    there: Served
    workers: list[Process]
    db: str

    def use(self, key: str) -> dict[str, Any]:
        items = self.there.http.get("/api/v1/limits", params={"key": key}).json()["items"]
        return dict(items[0]) if items else {"inUse": 0, "waiting": 0}

    def lives(self, flow: str) -> list[Life]:
        # A result that comes after its lease has run out is taken under an attempt of its own, that
        # nobody was given and that holds nothing.
        sql = (
            "select a.claimed_at, a.finished_at from windlass.attempts a"
            " join windlass.runs r on r.id = a.run_id where r.flow_name = $1 and a.limits <> ''"
        )

        async def ask() -> list[Life]:
            connection = await asyncpg.connect(self.db)
            try:
                return [Life(*row) for row in await connection.fetch(sql, flow)]
            finally:
                await connection.close()

        return asyncio.run(ask())


def most_at_once(lives: Sequence[Life]) -> int:
    # What ends in a millisecond makes room for what begins in it: a commit does both.
    turns = sorted([(life.began, 1) for life in lives] + [(life.ended, -1) for life in lives])
    out = most = 0
    for _, change in turns:
        out += change
        most = max(most, out)
    return most


def most_in(lives: Sequence[Life], span_ms: int) -> int:
    """The most beginnings in any span of time, both its ends included."""
    began = sorted(life.began for life in lives)
    first = most = 0
    for last, at in enumerate(began):
        while at - began[first] > span_ms:
            first += 1
        most = max(most, last - first + 1)
    return most


def call(service: str, limits: list[dict[str, Any]], **params: Any) -> dict[str, Any]:
    node = {"exec_type": "queue", "service": service, "params": params, "limits": limits}
    return {"start": "a", "nodes": {"a": node}}


@pytest.fixture(scope="module")
def two(
    tmp_path_factory: pytest.TempPathFactory, postgres_server: servers.PostgresServer
) -> Iterator[Two]:
    """Two servers on one PostgreSQL, with two pull workers each."""
    folder = tmp_path_factory.mktemp("limits")
    db = postgres_server.new_database()
    effects = folder / "effects"
    effects.touch()
    os.environ["EFFECTS"] = str(effects)
    both = [
        ServerProcess(
            db, "--admin-token", TOKEN, "--lease-s", str(LEASE_S), log=folder / "server.log"
        )
        for _ in range(2)
    ]
    with started(*both):
        workers = [worker_on(both[number % 2], number, folder) for number in range(4)]
        with started(*workers):
            found = Two(Served(both[0], db), Served(both[1], db), workers, db)
            yield found
            found.here.http.close()
            found.there.http.close()


def worker_on(server: ServerProcess, number: int, folder: Path) -> Process:
    return worker_process(
        "slow_services:worker",
        server.url,
        "pull",
        "--id",
        f"w{number}",
        "--concurrency",
        "8",
        token=TOKEN,
        path=[SERVICES],
        log=folder / "worker.log",
    )


@pytest.mark.alone
def test_a_rate_is_exact_over_two_servers_and_four_workers_and_is_used(two: Two) -> None:
    two.here.push("rated", call("step", [{"key": "bank", "rate": RATE}]))
    # It is never exceeded; a neighbour of this machine may keep it from being used up, once.
    shares = [used_of_a_rate(two)]
    if shares[0] < 0.97:
        shares.append(used_of_a_rate(two))
    assert max(shares) >= 0.97, shares


def used_of_a_rate(two: Two) -> float:
    """Let a rate be used for some seconds; the share of it that was."""
    count = RATE * SLICE_S
    # Starting so many is work of its own: they wait until all are there.
    stop = {"pattern": "bank", "max": 0}
    two.here.http.put("/api/v1/limit-rules", json=stop).raise_for_status()
    with ThreadPoolExecutor(4) as pool:
        ids = list(pool.map(lambda n: two.here.start("rated"), range(count)))
    wait_until(lambda: two.use("bank")["waiting"] == count)
    before = len(two.lives("rated"))
    two.here.http.delete("/api/v1/limit-rules", params={"pattern": "bank"}).raise_for_status()
    for run_id in ids:
        assert two.here.wait(run_id, 60)["state"] == "succeeded"
    # One that nobody took, as its worker had just stopped waiting, is handed out again.
    lives = sorted(two.lives("rated"))[before:]
    assert len(lives) >= count
    assert most_in(two.lives("rated"), 1000) <= RATE + 1
    return len(lives) / ((lives[-1].began - lives[0].began) / 1000 * RATE)


def test_a_key_is_never_over_its_limit_whoever_is_killed_and_no_place_is_lost(two: Two) -> None:
    two.here.push("kept", call("sleepy", [{"key": "door", "max": 5}], seconds=0.3))
    ids = [two.here.start("kept") for _ in range(60)]
    wait_until(lambda: two.use("door")["inUse"] == 5)
    assert two.use("door")["waiting"] > 0
    two.workers[0].kill()
    time.sleep(0.5)
    two.here.server.kill()
    for worker in two.workers[1:]:  # all that are left: some of them have the five in hand
        worker.kill()
    time.sleep(0.5)
    two.here.server.start()
    for worker in two.workers:
        worker.start()
    for run_id in ids:
        assert two.there.wait(run_id, 60)["state"] == "succeeded"
    lives = two.lives("kept")
    assert len(lives) > len(ids), "nobody was killed while it had something in hand"
    assert most_at_once(lives) == 5
    assert (two.use("door")["inUse"], two.use("door")["waiting"]) == (0, 0)
    # Every place is there again.
    again = [two.there.start("kept") for _ in range(10)]
    wait_until(lambda: two.use("door")["inUse"] == 5)
    for run_id in again:
        assert two.there.wait(run_id, 60)["state"] == "succeeded"


def test_a_limit_set_at_one_server_holds_at_the_other(two: Two) -> None:
    two.here.push("ruled", call("sleepy", [{"key": "gate:1", "max": 8}], seconds=0.2))
    rule = {"pattern": "gate:*", "max": 2}
    two.here.http.put("/api/v1/limit-rules", json=rule).raise_for_status()

    def shown(http: httpx.Client) -> bool:
        return bool(http.get("/api/v1/limit-rules").json()["items"])

    wait_until(lambda: shown(two.there.http))
    ids = [served.start("ruled") for _ in range(6) for served in (two.here, two.there)]
    said = two.there.http.get(f"/api/v1/runs/{ids[-1]}/why").json()
    for run_id in ids:
        assert two.here.wait(run_id, 60)["state"] == "succeeded"
    assert most_at_once(two.lives("ruled")) == 2
    assert "limit gate:1: 2 of 2 in use" in said["line"]
    two.there.http.delete("/api/v1/limit-rules", params={"pattern": "gate:*"}).raise_for_status()
    assert not shown(two.here.http)
    metrics = two.here.http.get("/metrics").text
    assert 'windlass_limits{of="in_use"} 0' in metrics

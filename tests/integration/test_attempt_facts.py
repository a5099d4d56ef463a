"""What workers state on NATS about their attempts: it hastens what a lease would decide, and no
more."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import nats
import pytest
from nats.errors import Error

from tests.hand import HandWorker
from windlass.testing.processes import ServerProcess, started, wait_until
from windlass.testing.servers import NatsServer

TOKEN = "wl_" + "f" * 40


class Stage:
    """A server that takes facts, and whoever states them."""

    def __init__(self, http: httpx.Client, url: str, prefix: str) -> None:
        self.http = http
        self._url = url
        self._prefix = prefix

    def state(self, *bodies: object) -> None:
        async def publish() -> None:
            client = await nats.connect(self._url)
            try:
                for body in bodies:
                    text = body if isinstance(body, bytes) else json.dumps(body).encode()
                    subject = f"{self._prefix}.attempt.fact.run.attempt.x"
                    await client.jetstream().publish(subject, text)
            finally:
                await client.close()

        asyncio.run(publish())

    def counted(self, outcome: str) -> int:
        name = f'windlass_facts_total{{outcome="{outcome}"}} '
        lines = self.http.get("/metrics").text.splitlines()
        return sum(int(float(line.removeprefix(name))) for line in lines if line.startswith(name))

    def begun(self, service: str) -> tuple[str, HandWorker, dict[str, Any]]:
        worker = HandWorker(self.http, service)
        flow = {"start": "a", "nodes": {"a": {"exec_type": "queue", "service": service}}}
        self.http.post(f"/api/v1/flows/{service}/versions", json={"definition": flow})
        run_id = self.http.post("/api/v1/runs", json={"flow": service}).json()["id"]
        return str(run_id), worker, worker.take()


def fact(attempt: dict[str, Any], deed: str, **more: Any) -> dict[str, Any]:
    return {
        "schema_version": "v1",
        "fact_id": str(uuid4()),
        "type": f"attempt.{deed}",
        "run_id": attempt["runId"],
        "task_id": attempt["taskId"],
        "attempt_id": attempt["attemptId"],
        "claim_epoch": 1,
        "claim_token": attempt["token"],
        "payload": {"reason": "the machine is going down"},
        "observed_at": "2026-01-01T00:00:00Z",
        **more,
    }


@pytest.fixture(params=["sqlite", "postgres"])
def stage(
    request: pytest.FixtureRequest, nats_server: NatsServer, tmp_path: Path
) -> Iterator[Stage]:
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path / 'windlass.db'}"
    else:
        url = request.getfixturevalue("postgres_url")
    prefix = f"f{uuid4().hex}"
    held = ("--admin-token", TOKEN, "--lease-s", "600")
    told = ("--facts", nats_server.url, "--bus-prefix", prefix)
    process = ServerProcess(url, *held, *told, log=tmp_path / "server.log")
    headers = {"Authorization": f"Bearer {TOKEN}"}
    with started(process), httpx.Client(base_url=process.url, headers=headers, timeout=30) as http:
        yield Stage(http, nats_server.url, prefix)


def test_an_attempt_that_is_stated_lost_is_done_again_long_before_its_lease_runs_out(
    stage: Stage,
) -> None:
    run_id, worker, attempt = stage.begun("facts.lost")
    wait_until(lambda: try_state(stage, fact(attempt, "lost")), 30)
    again = worker.take()
    assert again["attemptId"].endswith("@2")
    worker.finish(again, {"ok": True})
    wait_until(lambda: stage.http.get(f"/api/v1/runs/{run_id}").json()["state"] == "succeeded", 20)


def try_state(stage: Stage, body: object) -> bool:
    """State something, once the server has made its stream."""
    try:
        stage.state(body)
    except Error:
        return False
    return True


def test_each_fact_is_counted_by_what_became_of_it_and_changes_nothing_it_may_not(
    stage: Stage,
) -> None:
    run_id, worker, attempt = stage.begun("facts.all")
    wait_until(lambda: try_state(stage, fact(attempt, "started")), 30)
    stage.state(
        fact(attempt, "lost", claim_token=""),
        fact(attempt, "lost", claim_token="forged"),
        fact(attempt, "lost", claim_epoch=2),
        fact(attempt, "lost", run_id="another"),
        fact(attempt, "lost", attempt_id=f"{attempt['taskId']}@7", claim_epoch=7),
        fact(attempt, "lost", claim_epoch=0),
        b"no fact at all",
    )
    wait_until(lambda: stage.counted("ignored") == 1, 20)
    assert stage.counted("accepted") == 2, "one that began, and one without a proof"
    assert stage.counted("stale") == 2
    assert stage.counted("unknown") == 2
    [row] = stage.http.get(f"/api/v1/runs/{run_id}/attempts").json()["items"]
    assert (row["state"], row["startedAt"] is not None) == ("running", True)
    dead = stage.http.get("/api/v1/dead-letters").json()["items"]
    assert any("unreadable" in json.dumps(letter) for letter in dead), dead
    worker.finish(attempt, {"ok": True})
    stage.state(fact(attempt, "completed"), fact(attempt, "lost"))
    wait_until(lambda: stage.counted("duplicate") == 1 and stage.counted("stale") == 3, 20)
    assert stage.http.get(f"/api/v1/runs/{run_id}").json()["state"] == "succeeded"

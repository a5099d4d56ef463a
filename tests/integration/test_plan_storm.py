"""kill -9 of planner, worker, verifier and server, whenever it comes, and all of NATS lost: every
plan ends right."""

import asyncio
import json
import os
import random
import time
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import nats
import pytest

from tests.integration.conftest import TOKEN
from tests.integration.test_recovery import SERVICES
from windlass.testing import servers
from windlass.testing.processes import Process, ServerProcess, started, worker_process

STRIKES = 1
"""At each of them."""
PLANS = 3
"""Started before each strike."""
CALM_S = 60.0
LEASE_S = "1.5"
ALIASES = {"draft", "asked", "risky", "used", "end"}


class Storm:
    """Plans, the processes that do them, and what is done to those."""

    def __init__(self, db: str, folder: Path, nats_url: str) -> None:
        self.random = random.Random(10)
        self.effects = folder / "effects"
        self.effects.touch()
        os.environ["EFFECTS"] = str(self.effects)
        log = folder / "log"
        options = ("--admin-token", TOKEN, "--lease-s", LEASE_S)
        on_nats = [word for name in ("bus", "board", "facts") for word in (f"--{name}", nats_url)]
        self.nats_url = nats_url
        self.server = ServerProcess(db, *options, *on_nats, log=log)
        self.workers = [self.serving(role, log) for role in ("planner", "worker", "verifier")]
        head = {"Authorization": f"Bearer {TOKEN}"}
        self.http = httpx.Client(base_url=self.server.url, headers=head, timeout=20)
        self.runs: dict[str, str] = {}
        """By key."""

    def serving(self, role: str, log: Path) -> Process:
        more = ("--id", f"storm-{role}", "--concurrency", "4")
        target = f"storm_services:{role}"
        url = self.server.url
        return worker_process(target, url, "pull", *more, token=TOKEN, path=[SERVICES], log=log)

    def start(self, key: str) -> None:
        """Start a plan; the same key again, as whoever heard no answer does it."""
        body = {"goal": key, "planner_profile": "storm.plan", "idempotency_key": key}
        answer = self.http.post("/orchestration/runs", json=body)
        assert answer.status_code == 201, answer.text
        run_id = answer.json()["run_id"]
        assert self.runs.setdefault(key, run_id) == run_id

    def answer_all(self) -> None:
        """Answer what is asked; an answer that nobody confirmed may have counted already."""
        asked = self.http.get("/api/v1/checkpoints", params={"state": "open"}).json()
        for row in asked["items"]:
            path = f"/api/v1/checkpoints/{row['id']}/resolve"
            told = self.http.post(path, json={"answer": "yes"})
            assert told.status_code in (200, 409), told.text

    def strike(self, victim: Process) -> None:
        victim.kill()
        time.sleep(self.random.uniform(0, 0.2))
        victim.start()

    def over(self) -> bool:
        states = {self.run(run_id)["state"] for run_id in self.runs.values()}
        return states <= {"succeeded", "failed", "cancelled"}

    def run(self, run_id: str) -> dict[str, Any]:
        found: dict[str, Any] = self.http.get(f"/api/v1/runs/{run_id}").json()
        return found

    def rage(self) -> None:
        """Kill each of them some times, in any order, with new plans under way each time."""
        victims = [self.server, *self.workers] * STRIKES
        self.random.shuffle(victims)
        for number, victim in enumerate(victims):
            # The plan of the strike before is started again as well: it is there already.
            for key in range(max(0, number - 1) * PLANS, (number + 1) * PLANS):
                self.start(f"storm-{key}")
            time.sleep(self.random.uniform(0, 0.6))
            self.answer_all()
            self.strike(victim)
            if number == len(victims) // 2:
                assert asyncio.run(wipe(self.nats_url)), "there was something to lose"
        deadline = time.monotonic() + CALM_S
        while not self.over():
            assert time.monotonic() < deadline, "not all of it ended"
            self.answer_all()
            time.sleep(0.1)


async def wipe(url: str) -> int:
    """Everything that NATS keeps is gone; returns how many streams that were."""
    connection = await nats.connect(url)
    try:
        stream = connection.jetstream()
        names = [info.config.name for info in await stream.streams_info()]
        for name in names:
            assert name is not None
            await stream.delete_stream(name)
        return len(names)
    finally:
        await connection.close()


@pytest.mark.timeout(150)
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_whoever_is_killed_plans_end_right_and_nothing_stands_on_what_was_not_accepted(
    kind: str, tmp_path: Path, postgres_server: servers.PostgresServer
) -> None:
    with servers.nats() as own:
        weather(kind, tmp_path, postgres_server, own.url)


def weather(
    kind: str, tmp_path: Path, postgres_server: servers.PostgresServer, nats_url: str
) -> None:
    path = tmp_path / "windlass.db"
    db = f"sqlite:///{path}" if kind == "sqlite" else postgres_server.new_database()
    storm = Storm(db, tmp_path, nats_url)
    with started(storm.server, *storm.workers), storm.http:
        storm.rage()
        listed = storm.http.get("/orchestration/runs", params={"limit": 200}).json()["items"]
        assert len(listed) == len(storm.runs) == PLANS * STRIKES * 4
        assert {row["id"] for row in listed} == set(storm.runs.values())
        for run_id in storm.runs.values():
            check_run(storm, run_id)
    check_effects(storm)


def check_run(storm: Storm, run_id: str) -> None:
    run = storm.run(run_id)
    assert run["state"] == "succeeded", run
    seen = storm.http.get(f"/orchestration/runs/{run_id}/inspector").json()
    assert seen["run"]["planner_epoch"] == 2, "one rejected result, one plan anew"
    tasks = {row["alias"]: row["id"] for row in seen["tasks"] if row["alias"]}
    assert set(tasks) == ALIASES
    assert (seen["summary"]["attempts_active"], seen["summary"]["checkpoints_open"]) == (0, 0)
    verdicts = Counter(v["task_id"] for v in seen["verifications"] if v["verdict"] == "accepted")
    assert verdicts == {tasks["draft"]: 1, tasks["risky"]: 1}
    counted = Counter(
        row["task_id"]
        for row in seen["attempts"]
        if row["role"] == "work" and row["status"] == "completed"
    )
    for alias in ("used", "end"):
        assert counted[tasks[alias]] == 1, alias
    assert run["output"]["right"] is True


def check_effects(storm: Storm) -> None:
    """By what the services wrote down themselves, in the order in which they did."""
    accepted: set[str] = set()
    begun: set[tuple[str, str]] = set()
    for line in map(json.loads, storm.effects.read_text().splitlines()):
        if line["role"] == "verify" and line["verdict"] == "accepted":
            accepted.add(line["claim"])
        if line["role"] == "work":
            begun.add((line["run"], line["alias"]))
            for alias, output in line["stood_on"].items():
                assert output["right"], line
                assert alias not in ("draft", "risky") or output["by"] in accepted, line
    assert begun == {(run_id, alias) for run_id in storm.runs.values() for alias in ALIASES}

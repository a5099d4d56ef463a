"""Chaos on real processes: kill, pause, restart and cut for a while, then check the books.

Two servers, two pull, two push and two link workers and a durable PostgreSQL, a stream of runs
with side effects, and random harm every few seconds. When calm returns, every run must end within a
minute; the checker then reads the store and the effects. `make chaos` runs ten minutes; the tests
run a short one. Everything talks to loopback only and stops by itself.
"""

import argparse
import contextlib
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx

from tests.chaos.checker import check_store
from windlass.testing.processes import Process, ServerProcess, started, worker_process
from windlass.testing.servers import PostgresServer, postgres

TOKEN = "chaos-token"
CALM_S = 60.0
_STARTERS = 4
HERE = Path(__file__).parents[2]


def definition() -> dict[str, Any]:
    """A chain of pull and push calls around a fan-out and a nested one."""

    def call(exec_type: str, **extra: Any) -> dict[str, Any]:
        return {
            "exec_type": exec_type,
            "service": "effect",
            "prep": {"input_key": "$params.n"},
            "max_attempts": 50,
            "attempt_delay_ms": 200,
            **extra,
        }

    inner = {"start": "in", "nodes": {"in": call("queue", post={"output_key": "x"})}, "edges": []}
    nodes = {
        "pull": call("queue", post={"output_key": "a"}),
        "push": call("http", post={"output_key": "b"}),
        "fan": call(
            "queue",
            kind="foreach",
            prep={"input_key": "$params.items"},
            parallel_mode="concurrent",
            post={"output_key": "c"},
        ),
        "sub": {"kind": "subflow", "subflow": inner, "post": {"output_key": "d"}},
        "nap": {"kind": "timer", "params": {"delay_ms": 100}},
    }
    order = list(nodes)
    edges = [{"from": a, "action": "default", "to": b} for a, b in pairwise(order)]
    return {"start": order[0], "nodes": nodes, "edges": edges}


EFFECTS_A_RUN = 1 + 1 + 3 + 1


class World:
    """The processes, and the harm that can be done to them."""

    def __init__(self, folder: Path, database: PostgresServer, seed: int) -> None:
        self.random = random.Random(seed)
        self.database = database
        self.effects = folder / "effects"
        self.effects.touch()
        os.environ["EFFECTS"] = str(self.effects)
        url = database.new_database()
        self.url = url
        log = folder / "processes.log"
        self.servers = [
            ServerProcess(url, "--admin-token", TOKEN, "--lease-s", "3", log=log) for _ in range(2)
        ]
        self.workers: list[Process] = []
        for number, mode in enumerate(("pull", "link", "push", "push", "pull", "link")):
            server = self.servers[number % 2]
            name = f"{mode}-{number}"
            args: tuple[str, ...] = ("--id", name, "--concurrency", "8")
            if mode == "link":
                home = folder / name
                args += ("--packages-dir", str(home / "packages"), "--data-dir", str(home / "data"))
            self.workers.append(
                worker_process(
                    "tests.chaos.services:worker",
                    server.url,
                    mode,
                    *args,
                    token=TOKEN,
                    path=[HERE],
                    log=log,
                )
            )
        self.harm: Counter[str] = Counter()
        self.lock = threading.Lock()

    def strike(self) -> None:
        """Do one random harm, and undo it where it would last."""
        strikes: list[tuple[str, Callable[[], None]]] = [
            ("kill a worker", lambda: self._kill(self.random.choice(self.workers))),
            ("kill a server", lambda: self._kill(self.random.choice(self.servers))),
            ("pause a worker", lambda: self._pause(self.random.choice(self.workers), 4)),
            ("pause a server", lambda: self._pause(self.random.choice(self.servers), 2)),
            ("cut sockets", self._cut),
        ]
        name, strike = self.random.choice(strikes)
        with self.lock:
            strike()
        self.harm[name] += 1

    def restart_database(self) -> None:
        with self.lock:
            if self.random.random() < 0.5:
                self.database.kill()
                self.database.start()
            else:
                self.database.restart()
        self.harm["restart the database"] += 1

    def _kill(self, process: Process) -> None:
        process.kill()
        time.sleep(self.random.uniform(0, 1))
        self._start(process)

    def _start(self, process: Process) -> None:
        for _ in range(10):
            try:
                process.start()
                return
            except RuntimeError:
                time.sleep(1)
        process.start()

    def _pause(self, process: Process, seconds: float) -> None:
        if process.alive:
            process.signal(signal.SIGSTOP)
            time.sleep(self.random.uniform(0.2, seconds))
            process.signal(signal.SIGCONT)

    def _cut(self) -> None:
        """Close a server's connections under it, as a failing network would."""
        server = self.random.choice(self.servers)
        subprocess.run(
            ["ss", "-K", "state", "established", "sport", "=", f":{server.port}"],
            capture_output=True,
            check=False,
        )


class Load:
    """Starts runs for as long as it is asked to; every acknowledged one is remembered."""

    def __init__(self, world: World, runs_max: int) -> None:
        self.world = world
        self.runs_max = runs_max
        self.ids: list[str] = []
        self.refused: Counter[str] = Counter()
        self._numbers = itertools.count(1)

    def run(self, until: float) -> None:
        """Start runs from a few threads, spread over the time there is."""
        pause = max(0.0, (until - time.monotonic()) / self.runs_max * _STARTERS * 0.6)
        threads = [
            threading.Thread(target=self._start, args=(until, pause)) for _ in range(_STARTERS)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _start(self, until: float, pause: float) -> None:
        with httpx.Client(timeout=10) as http:
            while time.monotonic() < until:
                number = next(self._numbers)
                if number > self.runs_max:
                    return
                self._start_one(http, number)
                time.sleep(pause)

    def _start_one(self, http: httpx.Client, number: int) -> None:
        """Ask one server and then the other until the start is acknowledged, under one key."""
        body = {"flow": "chaos", "params": {"n": number, "items": [1, 2, 3]}}
        headers = {"Authorization": f"Bearer {TOKEN}", "Idempotency-Key": f"run-{number}"}
        for attempt in range(40):
            server = self.world.servers[(number + attempt) % 2]
            try:
                answer = http.post(f"{server.url}/api/v1/runs", json=body, headers=headers)
                if answer.status_code == 202:
                    self.ids.append(answer.json()["id"])
                    return
                self.refused[str(answer.status_code)] += 1
            except httpx.HTTPError as error:
                self.refused[type(error).__name__] += 1
            time.sleep(0.2)


def publish(server: ServerProcess) -> None:
    answer = httpx.post(
        f"{server.url}/api/v1/flows/chaos/versions",
        json={"definition": definition()},
        headers={"Authorization": f"Bearer {TOKEN}"},
        timeout=30,
    )
    answer.raise_for_status()


def rage(seconds: float, runs: int, seed: int, keep: Path | None = None) -> dict[str, Any]:
    """A whole experiment; returns its report. `keep` is where logs and effects stay."""
    with contextlib.ExitStack() as stack:
        folder = keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        database = stack.enter_context(postgres(durable=True))
        world = World(folder, database, seed)
        with started(*world.servers, *world.workers):
            publish(world.servers[0])
            load = Load(world, runs)
            until = time.monotonic() + seconds
            loader = threading.Thread(target=load.run, args=(until,))
            loader.start()
            next_restart = time.monotonic() + world.random.uniform(5, 20)
            while time.monotonic() < until:
                time.sleep(world.random.uniform(0.3, 2))
                world.strike()
                if time.monotonic() > next_restart:
                    world.restart_database()
                    next_restart = time.monotonic() + world.random.uniform(5, 20)
            loader.join()
            calm = wait_for_calm(world, load.ids)
            report = {
                "seed": seed,
                "seconds": seconds,
                "harm": dict(world.harm),
                "runs_acknowledged": len(load.ids),
                "refusals_while_harmed": dict(load.refused),
                "calm_after_s": calm,
            }
            report["stuck"] = reasons(world)
            effects = Counter(world.effects.read_text().split())
            report |= check_store(world.url, load.ids, effects, EFFECTS_A_RUN)
    return report


def wait_for_calm(world: World, ids: list[str]) -> float:
    """How long after the last harm every run had ended."""
    began = time.monotonic()
    headers = {"Authorization": f"Bearer {TOKEN}"}
    url = f"{world.servers[0].url}/api/v1/runs"
    left = "status:queued,running,waiting,cancelling"
    while time.monotonic() - began < CALM_S * 2:
        try:
            page = httpx.get(url, params={"q": left, "limit": 1}, headers=headers, timeout=10)
            if page.status_code == 200 and not page.json()["items"]:
                break
        except httpx.HTTPError:
            pass
        time.sleep(0.2)
    return round(time.monotonic() - began, 1)


def reasons(world: World) -> list[str]:
    """Why runs that have not ended stand where they stand, in Windlass's own words."""
    headers = {"Authorization": f"Bearer {TOKEN}"}
    url = f"{world.servers[0].url}/api/v1/runs"
    query = {"q": "status:queued,running,waiting,cancelling", "limit": "5"}
    page = httpx.get(url, params=query, headers=headers, timeout=30).json()
    ids = [item["id"] for item in page["items"]]
    return [
        httpx.get(f"{url}/{run_id}/why", headers=headers, timeout=30).json()["line"]
        for run_id in ids
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--runs", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--report", default="", help="where to write the report")
    parser.add_argument("--keep", type=Path, default=None, help="a folder for logs and effects")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else int.from_bytes(os.urandom(4))
    report = rage(options.seconds, options.runs, seed, options.keep)
    text = json.dumps(report, indent=2)
    print(text)
    if options.report:
        Path(options.report).write_text(text + "\n")
    return 1 if report["problems"] else 0


if __name__ == "__main__":
    sys.exit(main())

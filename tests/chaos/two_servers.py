"""Two servers on one PostgreSQL, killed in turn while runs with cancels, artifacts, package
installs and watchers go on.

Every run is started through one server, watched through the other and, if it is one that waits to
be cancelled, cancelled through that other too. When a server is killed, whoever watched there goes
on with the survivor. Afterwards every run must have ended as it was meant to, whatever a commit
promised must have been done, and nothing may have reached a watcher more than a second late.

`python -m tests.chaos.two_servers` has 1,000 runs; a test has fewer. It talks to loopback only and
stops by itself.
"""

import argparse
import asyncio
import contextlib
import json
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import asyncpg
import httpx

from tests.packages import archive
from tests.workflows import node, workflow
from windlass.testing.processes import Process, ServerProcess, started, wait_until, worker_process
from windlass.testing.servers import postgres

TOKEN = "two-servers"
HEADERS = {"Authorization": f"Bearer {TOKEN}"}
HERE = Path(__file__).parents[2]
CALM_S = 120.0
VERSIONS = 4
"""How many versions of a package are published while runs go on; each is needed by some."""
_AT_ONCE = 12
_ROUNDS_MAX = 20
_JUST_CONNECTED_S = 0.3
"""What comes in this moment may be what was there before."""
LARGE = 1_500_000
"""More than a frame of the link takes: the result stays with its worker, as an artifact."""

CHAIN = {
    "start": "a",
    "nodes": {
        name: {"exec_type": "queue", "service": "effect", "prep": {"input_key": "$params.n"}}
        for name in ("a", "b", "c")
    },
    "edges": [{"from": "a", "to": "b"}, {"from": "b", "to": "c"}],
}
HOLD = {
    "start": "a",
    "nodes": {"a": {"exec_type": "queue", "service": "hold", "max_attempts": 20}},
    "edges": [],
}
CODE = f"""
async def run(ctx):
    return {{"text": "x" * ({LARGE} if ctx.params.get("large") else 1)}}
"""


def needs_package(version: str, large: bool) -> dict[str, Any]:
    package = {"name": "tools", "version": version}
    made = node("run", type="tools.run", package=package, parameters={"large": large})
    return workflow([made])


class Books:
    """What the people saw."""

    def __init__(self) -> None:
        self.kinds: dict[str, str] = {}
        self.late: list[float] = []
        """How long after its commit each event reached a watcher, in seconds."""
        self.stopped_after: list[float] = []
        self.resumed = 0
        self.refused: Counter[str] = Counter()


class People:
    """Start runs, watch and cancel them, through whichever server answers."""

    def __init__(self, servers: list[ServerProcess], effects: Path, books: Books) -> None:
        self.servers = servers
        self.effects = effects
        self.books = books
        self.http = httpx.AsyncClient(headers=HEADERS, timeout=20)
        self.gate = asyncio.Semaphore(_AT_ONCE)

    async def ask(self, first: int, method: str, path: str, **more: Any) -> httpx.Response:
        """Ask one server and then the other, until one answers."""
        for attempt in range(120):
            server = self.servers[(first + attempt) % 2]
            try:
                answer = await self.http.request(method, f"{server.url}{path}", **more)
                if answer.status_code < 500:
                    return answer
                self.books.refused[str(answer.status_code)] += 1
            except httpx.HTTPError as error:
                self.books.refused[type(error).__name__] += 1
            await asyncio.sleep(0.1)
        raise AssertionError(f"{method} {path} was never answered")

    async def live(self, number: int) -> None:
        """One run, from its start to its end."""
        async with self.gate:
            kind = ("held", "packed", "chain", "chain", "chain")[number % 5]
            if kind == "packed":
                version = f"1.0.{number // 5 % VERSIONS}"
                large = number % 10 == 1
                kind = "large" if large else kind
                body: dict[str, Any] = {"workflow": needs_package(version, large), "clientId": "c"}
            else:
                body = {"flow": "held" if kind == "held" else "chain", "params": {"n": number}}
            headers = {"Idempotency-Key": f"run-{number}"}
            made = await self.ask(number, "POST", "/api/v1/runs", json=body, headers=headers)
            assert made.status_code in (200, 202), made.text
            told = made.json()
            run_id = told.get("id") or told["runId"]
            self.books.kinds[run_id] = kind
            await self.watch(run_id, number + 1, cancels=kind == "held")

    async def watch(self, run_id: str, first: int, *, cancels: bool) -> None:
        """Follow a run's events to its end, with the next server where one breaks off."""
        seq, turn = 0, first
        cancelling: asyncio.Task[None] | None = None
        while True:
            try:
                async for event in self.events(self.servers[turn % 2], run_id, seq):
                    seq = event["seq"]
                    if cancels and event["type"] == "attempt.claimed" and cancelling is None:
                        cancelling = asyncio.ensure_future(self.cancel(run_id, turn))
                    if ended(event):
                        if cancelling is not None:
                            await cancelling
                        return
            except (httpx.HTTPError, httpx.StreamError):
                pass
            self.books.resumed += 1
            turn += 1
            await asyncio.sleep(0.05)

    async def events(self, server: ServerProcess, run_id: str, after: int) -> AsyncGenerator[Any]:
        headers = {"Accept": "text/event-stream", "Last-Event-ID": str(after)}
        url = f"{server.url}/api/v1/runs/{run_id}/events"
        async with self.http.stream("GET", url, headers=headers) as stream:
            connected = time.time()
            if stream.status_code != 200:
                raise httpx.StreamError(f"{stream.status_code}")
            async for line in stream.aiter_lines():
                if line.startswith("data:"):
                    event = json.loads(line[5:])
                    if "seq" not in event:
                        continue
                    at = event["at"] / 1000
                    if at > connected + _JUST_CONNECTED_S:
                        self.books.late.append(time.time() - at)
                    yield event

    async def cancel(self, run_id: str, turn: int) -> None:
        await asyncio.sleep(0.2)
        answer = await self.ask(turn, "POST", f"/api/v1/runs/{run_id}/cancel", json={})
        assert answer.status_code in (200, 202, 409), answer.text
        began = time.monotonic()
        while f"stopped {run_id}" not in self.effects.read_text():
            if time.monotonic() - began > 5:
                return  # nobody had begun it, or the checker says so
            await asyncio.sleep(0.02)
        self.books.stopped_after.append(time.monotonic() - began)


def ended(event: dict[str, Any]) -> bool:
    changes = event["data"].get("changes", [])
    return any(change.get("run") in ("succeeded", "failed", "cancelled") for change in changes)


class World:
    def __init__(self, folder: Path, url: str, seed: int) -> None:
        self.random = random.Random(seed)
        self.url = url
        self.effects = folder / "effects"
        self.effects.touch()
        os.environ["EFFECTS"] = str(self.effects)
        # Whoever lost its work on the link is told with its next sign of life.
        os.environ["ASTRA_WORKER_HEARTBEAT_INTERVAL_SECONDS"] = "2"
        log = folder / "processes.log"
        self.servers = [
            ServerProcess(
                url,
                *("--admin-token", TOKEN, "--lease-s", "5", "--data-dir", str(folder / f"d{n}")),
                log=log,
            )
            for n in range(2)
        ]
        self.workers: list[Process] = []
        for number, mode in enumerate(("pull", "pull", "link", "link")):
            args = ["--id", f"{mode}-{number}", "--concurrency", "16"]
            if mode == "link":
                home = folder / f"{mode}-{number}"
                args += ["--packages-dir", str(home / "packages"), "--data-dir", str(home / "data")]
            self.workers.append(
                worker_process(
                    "tests.chaos.services:worker",
                    self.servers[number % 2].url,
                    mode,
                    *args,
                    token=TOKEN,
                    path=[HERE],
                    log=log,
                )
            )
        self.kills = 0

    async def kill_in_turn(self, over: asyncio.Event) -> None:
        """Kill one server and then the other, each back before the next one goes."""
        turn = 0
        while not over.is_set():
            await asyncio.sleep(self.random.uniform(1.5, 3.0))
            server = self.servers[turn % 2]
            await asyncio.to_thread(server.kill)
            self.kills += 1
            await asyncio.sleep(self.random.uniform(0.2, 1.0))
            await asyncio.to_thread(server.start)
            turn += 1

    async def publish_versions(self, people: People) -> None:
        for number in range(VERSIONS):
            package = archive(CODE, version=f"1.0.{number}")
            files = {"file": ("tools.cwx", package)}
            sent = await people.ask(number, "POST", "/api/v1/published-packages", files=files)
            assert sent.status_code in (201, 409), sent.text
            for server in self.servers:
                at = f"/api/v1/published-packages/tools/archive?version=1.0.{number}"
                got = await people.ask(self.servers.index(server), "GET", at)
                assert got.content == package, "what one publishes the other serves"
            await asyncio.sleep(0.5)


async def rage(runs: int, kills: int, seed: int, folder: Path, url: str) -> dict[str, Any]:
    world, books = World(folder, url, seed), Books()
    with contextlib.ExitStack() as stack:
        for process in (*world.servers, *world.workers):
            stack.callback(process.kill)
        stack.enter_context(started(*world.servers))
        for worker in world.workers:
            worker.start()
        people = People(world.servers, world.effects, books)
        for name, definition in (("chain", CHAIN), ("held", HOLD)):
            path = f"/api/v1/flows/{name}/versions"
            await people.ask(0, "POST", path, json={"definition": definition})
        await world.publish_versions(people)
        over = asyncio.Event()
        killing = asyncio.ensure_future(world.kill_in_turn(over))
        began = time.monotonic()
        lives = [asyncio.ensure_future(people.live(n)) for n in range(runs)]
        done, left = await asyncio.wait(lives, timeout=runs * 0.5 + CALM_S)
        while world.kills < kills and not left and len(done) < runs * _ROUNDS_MAX:
            # A fast machine is through before anything has happened: once more, then.
            more = [asyncio.ensure_future(people.live(len(done) + n)) for n in range(runs)]
            ended_too, left = await asyncio.wait(more, timeout=runs * 0.5 + CALM_S)
            done |= ended_too
        over.set()
        await killing
        for life in left:
            life.cancel()
        problems = [f"{len(left)} people still wait for their runs"] if left else []
        problems += [repr(error) for life in done if (error := life.exception()) is not None]
        raged = time.monotonic() - began
        with contextlib.suppress(TimeoutError):
            await asyncio.to_thread(wait_until, lambda: not asyncio.run(open_rows(url)), 60)
        with contextlib.suppress(TimeoutError):
            await asyncio.to_thread(
                wait_until, lambda: not going_on(world.effects.read_text().split("\n")), 40
            )
        problems += await check(url, books, world.effects.read_text().split("\n"))
        await people.http.aclose()
    late = sorted(books.late)
    stops = sorted(books.stopped_after)
    return {
        "seed": seed,
        "runs": len(books.kinds),
        "kinds": dict(Counter(books.kinds.values())),
        "kills": world.kills,
        "seconds": round(raged, 1),
        "watchers_resumed": books.resumed,
        "events_watched": len(late),
        "late_p50_ms": at_share(late, 0.5),
        "late_p99_ms": at_share(late, 0.99),
        "late_most_ms": at_share(late, 1.0),
        "stopped_after_p50_ms": at_share(stops, 0.5),
        "stopped_after_most_ms": at_share(stops, 1.0),
        "refused_while_killed": dict(books.refused),
        "effects_repeated": repeated(world.effects.read_text().split("\n")),
        "problems": problems[:40],
    }


def at_share(figures: list[float], share: float) -> int | None:
    return (
        round(figures[min(len(figures) - 1, int(len(figures) * share))] * 1000) if figures else None
    )


def repeated(lines: list[str]) -> int:
    """Work that was done again: promised only where its attempt was lost."""
    tasks = Counter(line for line in lines if line and " " not in line)
    return sum(tasks.values()) - len(tasks)


def going_on(lines: list[str]) -> list[str]:
    """Work that was begun and never told to stop. A claim whose answer was lost with its server was
    never begun, and has nobody to tell."""
    told = {line for line in lines if line.startswith("stopped ")}
    began = sorted({line for line in lines if line.startswith("holding ")})
    return [line for line in began if line.replace("holding", "stopped") not in told]


async def open_rows(url: str) -> list[str]:
    """What is still to be done."""
    db: Any = await asyncpg.connect(url, server_settings={"search_path": "windlass"})
    try:
        checks = {
            "open runs": "select count(*) from runs where finished_at is null",
            "effects": "select count(*) from effects where state = 'waiting'",
            "live attempts": "select count(*) from attempts where state in ('claimed', 'running')",
        }
        return [f"{n} {what}" for what, sql in checks.items() if (n := await db.fetchval(sql))]
    finally:
        await db.close()


async def check(url: str, books: Books, lines: list[str]) -> list[str]:
    problems = [f"left over: {what}" for what in await open_rows(url)]
    db: Any = await asyncpg.connect(url, server_settings={"search_path": "windlass"})
    try:
        waiting = await db.fetch("select * from effects where state = 'waiting' limit 3")
        problems += [f"left over: {dict(row)}" for row in waiting]
        states = {row["id"]: row["state"] for row in await db.fetch("select id, state from runs")}
        for run_id, kind in books.kinds.items():
            wanted = "cancelled" if kind == "held" else "succeeded"
            if states.get(run_id) != wanted:
                problems.append(f"run {run_id} ({kind}) is {states.get(run_id)}")
        for line in going_on(lines):
            row = await db.fetchrow("select * from attempts where id = $1", line.split()[1])
            said = f"{row['state']} at {row['finished_at'] - row['claimed_at']} ms: {row['error']}"
            problems.append(f"{line} of {row['worker_id']}, and nobody said stop; it is {said}")
        twice = (
            "select task_id from attempts where state = 'succeeded' group by 1 having count(*) > 1"
        )
        problems += [f"{row['task_id']} was accepted twice" for row in await db.fetch(twice)]
        made = await db.fetch("select run_id, count(*) as n from artifacts group by run_id")
        artifacts = {row["run_id"]: row["n"] for row in made}
        large = {run_id for run_id, kind in books.kinds.items() if kind == "large"}
        problems += [
            f"{run_id} has {artifacts.get(run_id, 0)} artifacts"
            for run_id in large
            if artifacts.get(run_id) != 1
        ]
        dead = await db.fetchval("select count(*) from effects where state = 'dead'")
        problems += [f"{dead} effects were given up"] if dead else []
    finally:
        await db.close()
    return problems


def storm(runs: int, seed: int, keep: Path | None = None, kills: int = 4) -> dict[str, Any]:
    """So many runs, and as many again until servers were killed often enough."""
    with contextlib.ExitStack() as stack:
        folder = keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        database = stack.enter_context(postgres(durable=True))
        return asyncio.run(rage(runs, kills, seed, folder, database.new_database()))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=9)
    parser.add_argument("--keep", type=Path, default=None, help="a folder for logs and effects")
    given = parser.parse_args()
    report = storm(given.runs, given.seed, given.keep)
    sys.stdout.write(json.dumps(report, indent=2) + "\n")
    return 1 if report["problems"] else 0


if __name__ == "__main__":
    sys.exit(main())

"""Served and linked mode: a server process, a worker process and this client, over loopback."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from statistics import quantiles
from typing import Any

import msgspec
import psutil

from windlass.client.transport import Connection
from windlass.testing.bench import flows as definitions
from windlass.testing.processes import Process, ServerProcess, worker_process

_CLIENTS = 32


class Served:
    """The processes of one measurement."""

    def __init__(
        self, db: str, folder: Path, lease_s: float = 5.0, transport: str = "pull"
    ) -> None:
        log = folder / "served.log"
        links = ("--packages-dir", str(folder / "packages"), "--data-dir", str(folder / "data"))
        self.server = ServerProcess(
            *(db, "--no-auth", "--lease-s", str(lease_s), "--data-dir", str(folder / "files")),
            log=log,
        )
        self.worker: Process = worker_process(
            "windlass.testing.bench.services:worker",
            self.server.url,
            transport,
            "--concurrency",
            "256",
            *(links if transport == "link" else ()),
            log=log,
        )
        self._idle: list[Connection] = []

    async def call(self, method: str, path: str, body: Any = None) -> Any:
        """One request on a kept connection; a general client would be measured along."""
        return await self.send(method, path, b"" if body is None else msgspec.json.encode(body))

    async def send(self, method: str, path: str, data: bytes) -> Any:
        connection = self._idle.pop() if self._idle else Connection(self.server.url)
        answer = await connection.request(method, path, data, 120)
        self._idle.append(connection)
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {answer.body.decode()}")
        is_json = answer.body[:1] in (b"{", b"[")
        return msgspec.json.decode(answer.body) if is_json else answer.body.decode()

    def close(self) -> None:
        for connection in self._idle:
            connection.close()

    async def push(self, name: str, definition: dict[str, Any]) -> None:
        await self.call("POST", f"/api/v1/flows/{name}/versions", {"definition": definition})

    async def start(self, flow: str, params: dict[str, Any] | None = None) -> str:
        answer = await self.call("POST", "/api/v1/runs", {"flow": flow, "params": params or {}})
        return str(answer["id"])

    async def finish(self, run_id: str) -> dict[str, Any]:
        while True:
            run: dict[str, Any] = await self.call("GET", f"/api/v1/runs/{run_id}?waitMs=60000")
            if run["state"] in ("succeeded", "failed", "cancelled"):
                if run["state"] != "succeeded":
                    raise RuntimeError(f"run {run_id}: {run['error']}")
                return run

    async def count(self, state: str) -> int:
        text = await self.call("GET", "/metrics")
        for line in text.splitlines():
            if line.startswith(f'windlass_runs{{state="{state}"}}'):
                return int(line.rpartition(" ")[2])
        return 0

    def cpu_s(self) -> dict[str, float]:
        """CPU seconds by process so far."""
        found: dict[str, float] = {}
        for name, process in (("server", self.server), ("worker", self.worker)):
            times = psutil.Process(process.pid).cpu_times()
            found[name] = times.user + times.system
        return found


@asynccontextmanager
async def served(
    db: str, folder: Path, lease_s: float = 5.0, transport: str = "pull"
) -> AsyncGenerator[Served]:
    system = Served(db, folder, lease_s, transport)
    async with AsyncExitStack() as stack:
        stack.enter_context(system.server)
        stack.enter_context(system.worker)
        stack.callback(system.close)
        yield system


async def start_many(system: Served, flow: str, count: int) -> list[str]:
    """Submit as fast as the API takes them, from a few connections at once."""
    ids: list[str] = []
    numbers = iter(range(count))

    async def client() -> None:
        for _ in numbers:
            ids.append(await system.start(flow))

    await asyncio.gather(*(client() for _ in range(_CLIENTS)))
    return ids


async def w1(system: Served, count: int = 2000, steps: int = 5) -> dict[str, float]:
    await system.push("w1", definitions.chain(steps, "pull"))
    await system.finish(await system.start("w1"))
    before = await system.count("succeeded")
    cpu, began = system.cpu_s(), time.perf_counter()
    await start_many(system, "w1", count)
    submitted = time.perf_counter() - began
    while await system.count("succeeded") - before < count:
        await asyncio.sleep(0.05)
    seconds = time.perf_counter() - began
    spent = {name: value - cpu[name] for name, value in system.cpu_s().items()}
    tasks = count * steps
    return {
        "tasks_s": tasks / seconds,
        "runs_s": count / seconds,
        "submitted_s": submitted,
        **{f"{name}_cpu_us_task": value / tasks * 1e6 for name, value in spent.items()},
    }


async def w2(system: Served, count: int = 100, steps: int = 5) -> dict[str, float]:
    await system.push("w2", definitions.chain(steps, "pull"))
    for _ in range(5):
        await system.finish(await system.start("w2"))
    times: list[float] = []
    for _ in range(count):
        began = time.perf_counter()
        await system.finish(await system.start("w2"))
        times.append((time.perf_counter() - began) * 1000)
    cuts = quantiles(times, n=20)
    return {"p50_ms": cuts[9], "p95_ms": cuts[18], "step_ms": cuts[9] / steps}


async def w3(system: Served, count: int = 1000) -> dict[str, float]:
    await system.push("w3", definitions.fan("pull"))
    await system.finish(await system.start("w3", {"items": [1, 2, 3]}))
    memory = psutil.Process(system.server.pid).memory_info
    before = memory().rss
    began = time.perf_counter()
    run = await system.finish(await system.start("w3", {"items": list(range(count))}))
    seconds = time.perf_counter() - began
    if len(run["shared"]["out"]) != count:
        raise RuntimeError("results are missing")
    grown = (memory().rss - before) / 2**20
    return {"seconds": seconds, "branches_s": count / seconds, "rss_grown_mib": grown}


async def w4(system: Served, seconds: float = 10.0) -> dict[str, float]:
    await asyncio.sleep(2)
    cpu, began = system.cpu_s(), time.perf_counter()
    await asyncio.sleep(seconds)
    spent = time.perf_counter() - began
    after = system.cpu_s()
    figures = {f"{name}_cpu_percent": (after[name] - cpu[name]) / spent * 100 for name in cpu}
    rss = psutil.Process(system.server.pid).memory_info().rss / 2**20
    return {**figures, "rss_mib": rss}


async def w5(system: Served, count: int = 500) -> dict[str, float]:
    """kill -9 of server and worker in the middle; nothing may be lost or accepted twice."""
    await system.push("w5", definitions.chain(5, "pull"))
    await system.finish(await system.start("w5"))
    ids = await start_many(system, "w5", count)
    began = time.perf_counter()
    system.worker.kill()
    system.server.kill()
    system.server.start()
    system.worker.start()
    await asyncio.gather(*(system.finish(run_id) for run_id in ids))
    seconds = time.perf_counter() - began
    again = twice = 0
    for run_id in ids:
        page = await system.call("GET", f"/api/v1/runs/{run_id}/attempts")
        attempts = page["items"]
        accepted = [a["taskId"] for a in attempts if a["state"] == "succeeded"]
        twice += len(accepted) - len(set(accepted))
        again += len(attempts) - len(set(accepted))
        if len(set(accepted)) != 5:
            raise RuntimeError(f"run {run_id} lost a task")
    return {"seconds": seconds, "lost": 0, "accepted_twice": twice, "begun_twice": again}


WORKLOADS = {"w1": w1, "w2": w2, "w3": w3, "w4": w4, "w5": w5}

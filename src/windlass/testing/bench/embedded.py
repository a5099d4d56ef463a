"""Embedded mode: engine, store and tasks in one process, measured from inside it.

Runs as a process of its own, so that CPU and memory are this workload's alone:
`python -m windlass.testing.bench.embedded DB WORKLOAD` prints one JSON object.
"""

import asyncio
import resource
import sys
import time
from pathlib import Path
from statistics import quantiles
from typing import Any

import msgspec
import uvloop

from windlass.drivers.dispatch.runner import Done, Execute
from windlass.engine import flows, runs
from windlass.model.assignment import Assignment
from windlass.model.rows import Checkpoint, Run
from windlass.model.states import RUN_ENDED, RunState
from windlass.model.tenants import DEFAULT
from windlass.ports.store import Cond, Store
from windlass.testing.bench import flows as definitions
from windlass.wiring.options import ServerOptions
from windlass.wiring.system import System, running


async def noop(assignment: Assignment) -> Done:
    return Done('{"ok":true}')


LOCAL: dict[str, Execute] = {f"local:{definitions.SERVICE}": noop}


async def start(system: System, published: flows.Published, params: str = "{}") -> str:
    started = await runs.start_run(system.engine, published.target, params)
    return started.run.id


async def finish(system: System, run_id: str) -> None:
    run = await runs.wait_run(system.engine, run_id, 600)
    if run.state is not RunState.SUCCEEDED:
        raise RuntimeError(f"run {run_id} is {run.state}: {run.error}")


def seen(system: System) -> Store:
    """The store as every caller of a server has it: a tenant's."""
    return system.engine.of(DEFAULT).store


async def all_finished(system: System, ids: list[str]) -> None:
    """Wait for many runs without asking about each more than once at the end."""
    store = seen(system)
    while True:
        ended = await store.count(
            Run, [Cond("state", "in", tuple(RUN_ENDED)), Cond("id", ">=", min(ids))]
        )
        if ended >= len(ids):
            return
        await asyncio.sleep(0.02)


async def w1(system: System, count: int = 2000, steps: int = 5) -> dict[str, float]:
    """Many runs of sequential tasks, submitted at once."""
    published = await flows.publish(system.engine, "w1", definitions.chain(steps, "local"))
    await finish(system, await start(system, published))
    cpu, began = time.process_time(), time.perf_counter()
    ids = await asyncio.gather(*(start(system, published) for _ in range(count)))
    await all_finished(system, list(ids))
    seconds = time.perf_counter() - began
    return {
        "tasks_s": count * steps / seconds,
        "runs_s": count / seconds,
        "cpu_us_task": (time.process_time() - cpu) / (count * steps) * 1e6,
        "list_ms": await time_lists(system),
    }


async def time_lists(system: System, times: int = 40) -> float:
    """How long a page of the run list takes, unfiltered and by state."""
    store = seen(system)
    began = time.perf_counter()
    for _ in range(times):
        await store.page(Run, descending=True, limit=50)
        failed = [Cond("state", "in", ("failed", "running"))]
        await store.page(Run, failed, descending=True, limit=50)
    return (time.perf_counter() - began) / times / 2 * 1000


async def w2(system: System, count: int = 100, steps: int = 5) -> dict[str, float]:
    """One run at a time on an idle system."""
    published = await flows.publish(system.engine, "w2", definitions.chain(steps, "local"))
    for _ in range(5):
        await finish(system, await start(system, published))
    times: list[float] = []
    for _ in range(count):
        began = time.perf_counter()
        await finish(system, await start(system, published))
        times.append((time.perf_counter() - began) * 1000)
    cuts = quantiles(times, n=20)
    return {"p50_ms": cuts[9], "p95_ms": cuts[18], "step_ms": cuts[9] / steps}


async def w3(system: System, count: int = 1000) -> dict[str, float]:
    """One run that fans out and joins."""
    published = await flows.publish(system.engine, "w3", definitions.fan("local"))
    await finish(system, await start(system, published, '{"items":[1,2,3]}'))
    before = rss_mib()
    params = msgspec.json.encode({"items": list(range(count))}).decode()
    began = time.perf_counter()
    run_id = await start(system, published, params)
    await finish(system, run_id)
    seconds = time.perf_counter() - began
    shared = await runs.shared_of(system.engine, run_id)
    joined = len(msgspec.json.decode(shared["out"]))
    if joined != count:
        raise RuntimeError(f"{joined} results of {count}")
    return {"seconds": seconds, "branches_s": count / seconds, "rss_grown_mib": rss_mib() - before}


async def w4(system: System, seconds: float = 10.0) -> dict[str, float]:
    """Nothing to do."""
    await asyncio.sleep(1)
    queries = count_queries(system)
    cpu, began = time.process_time(), time.perf_counter()
    await asyncio.sleep(seconds)
    spent = time.perf_counter() - began
    return {
        "cpu_percent": (time.process_time() - cpu) / spent * 100,
        "queries_s": queries[0] / spent,
        "rss_mib": rss_mib(),
    }


def count_queries(system: System) -> list[int]:
    """Count calls of the store from now on."""
    count = [0]
    store: Any = system.store
    for name in ("query", "page", "count", "renew", "session"):
        inner = getattr(store, name)

        def counted(*args: Any, inner: Any = inner, **kwargs: Any) -> Any:
            count[0] += 1
            return inner(*args, **kwargs)

        setattr(store, name, counted)
    return count


async def w6(system: System, count: int = 10_000) -> dict[str, float]:
    """Runs that wait for people, then all are answered."""
    published = await flows.publish(system.engine, "w6", definitions.approval())
    began = time.perf_counter()
    ids = await asyncio.gather(*(start(system, published) for _ in range(count)))
    made = time.perf_counter() - began
    waiting = await system.store.count(Checkpoint, [Cond("state", "=", "open")])
    if waiting != count:
        raise RuntimeError(f"{waiting} of {count} wait")
    cpu = time.process_time()
    await asyncio.sleep(5)
    idle = (time.process_time() - cpu) / 5 * 100
    began = time.perf_counter()
    await asyncio.gather(
        *(runs.answer(system.engine, f"{run_id}~ask.1!0", "approved") for run_id in ids)
    )
    await all_finished(system, list(ids))
    answered = time.perf_counter() - began
    return {
        "start_s": made,
        "answer_s": answered,
        "idle_cpu_percent": idle,
        "rss_mib": rss_mib(),
    }


WORKLOADS = {"w1": w1, "w2": w2, "w3": w3, "w4": w4, "w6": w6}


def rss_mib() -> float:
    """Memory in use now, from the kernel's own books."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


async def main(db: str, workload: str, *numbers: str) -> None:
    options = ServerOptions(db=db, no_auth=True)
    async with running(options, LOCAL) as system:
        figures = await WORKLOADS[workload](system, *map(int, numbers))
    print(msgspec.json.encode(figures).decode())


if __name__ == "__main__":
    uvloop.run(main(*sys.argv[1:]))

"""A tenant with much to do does not keep others waiting, with an engine and a shared worker."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import quantiles
from typing import Any

import pytest

from windlass.drivers.dispatch.local import function
from windlass.drivers.dispatch.runner import Runner
from windlass.drivers.sql import migrate_sqlite
from windlass.drivers.store.sqlite import SqliteStore
from windlass.engine import flows, runs
from windlass.engine.attempts import Attempts
from windlass.engine.engine import Engine
from windlass.model.rows import Attempt, Task
from windlass.model.states import TaskState
from windlass.model.tenants import ALL, Tenant

pytestmark = pytest.mark.anyio

SMALL = [f"small-{n}" for n in range(50)]
TASK_S = 0.004
SLOTS = 4
NOISY = 10_000
FLOW = {"start": "a", "nodes": {"a": {"exec_type": "queue", "service": "work"}}}


async def work(value: Any, params: dict[str, Any]) -> str:
    await asyncio.sleep(TASK_S)
    return "done"


@asynccontextmanager
async def world(file: Path) -> AsyncGenerator[Engine]:
    """All tenants, and one worker that works for them all."""
    migrate_sqlite.migrate(str(file))
    engine = Engine(SqliteStore(str(file)), name="shared")
    committing = asyncio.ensure_future(engine.advance.run())
    for name in ("noisy", *SMALL):
        await engine.write(Tenant(id=name, created_at=0))
    await engine.refresh_tenants()
    runner = Runner(Attempts(engine), "worker", {"pull:work": function(work)}, SLOTS, tenant=ALL)
    working = asyncio.ensure_future(runner.run())
    try:
        yield engine
    finally:
        for task in (working, committing):
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        await engine.store.close()


async def start(engine: Engine, tenant: str, count: int) -> list[str]:
    mine = engine.of(tenant)
    published = await flows.publish(mine, "work", FLOW)
    started = await asyncio.gather(
        *(runs.start_run(mine, published.target, "{}") for _ in range(count))
    )
    return [one.run.id for one in started]


async def waits(file: Path, noisy: int) -> list[int]:
    """How long tasks of small tenants wait, each of which has two, while another has many."""
    async with world(file) as engine:
        if noisy:
            await start(engine, "noisy", noisy)
        many = await asyncio.gather(*(start(engine, name, 2) for name in SMALL))
        ids = {run_id for some in many for run_id in some}
        for run_id in ids:
            await runs.wait_run(engine, run_id, 60)
        tasks = await engine.store.page(Task, limit=30_000)
        attempts = await engine.store.page(Attempt, limit=30_000)
    others = [task for task in tasks if task.run_id not in ids]
    assert not noisy or any(task.state is TaskState.QUEUED for task in others), "it was done before"
    ready = {task.run_id: task.ready_at or 0 for task in tasks}
    return [a.claimed_at - ready[a.run_id] for a in attempts if a.run_id in ids]


@pytest.mark.alone
async def test_small_tenants_wait_no_longer_than_twice_as_long_beside_a_noisy_one(
    tmp_path: Path,
) -> None:
    alone = await waits(tmp_path / "alone.db", 0)
    beside = await waits(tmp_path / "beside.db", NOISY)
    p95_alone, p95_beside = quantiles(alone, n=20)[18], quantiles(beside, n=20)[18]
    print(f"p95 alone {p95_alone:.0f} ms, beside a noisy one {p95_beside:.0f} ms")
    assert p95_beside <= 2 * p95_alone

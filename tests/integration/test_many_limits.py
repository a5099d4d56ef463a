"""A hundred thousand keys with a task waiting at each cost what ten cost, for each task."""

import time
from pathlib import Path
from typing import Any

import pytest

from windlass.drivers.sql import migrate_postgres, migrate_sqlite
from windlass.drivers.store.postgres import PostgresStore
from windlass.drivers.store.sqlite import SqliteStore
from windlass.model.limits import LimitUse
from windlass.model.rows import Run, Task
from windlass.model.states import RunState, TaskState
from windlass.ports.store import Store, Writes
from windlass.testing import servers

pytestmark = pytest.mark.anyio

MANY = 100_000
_BATCH = 10_000


def waiting(number: int) -> tuple[Run, Task, LimitUse]:
    """A run whose only task waits for a key of its own, which another holds."""
    run_id, key = f"run-{number:08}", f"bank:{number:08}"
    run = Run(
        id=run_id,
        version_id="v",
        flow_id="f",
        flow_name="f",
        state=RunState.WAITING,
        created_at=1,
        updated_at=1,
    )
    task = Task(
        id=f"{run_id}~a.1",
        run_id=run_id,
        scope=run_id,
        node="a",
        kind="call",
        state=TaskState.WAITING,
        queue="pull:pay",
        ready_at=number,
        created_at=1,
        limits=f'[["{key}",1,0,1000,1]]',
        parked=f"default {key}",
    )
    use = LimitUse(id=task.parked or "", tenant="default", key=key, max=1, in_use=1, parked=1)
    return run, task, use


async def fill(store: Store, count: int) -> None:
    for first in range(0, count, _BATCH):
        made: dict[Any, dict[Any, Any]] = {Run: {}, Task: {}, LimitUse: {}}
        for number in range(first, min(first + _BATCH, count)):
            for row in waiting(number):
                made[type(row)][row.pk] = row
        async with store.session() as session:
            await session.save(Writes(made=made))


async def cost_ms(store: Store, count: int) -> float:
    """What a pass asks about one key, and what a look at everything asks: the best of some."""

    async def ask(number: int) -> None:
        _, task, use = waiting(number)
        async with store.session() as session:
            assert await session.hold([use]) == [use]
            assert await session.parked({use.id: 1}) == [task]
            assert await session.queued({"pull:pay": 5}) == []
        assert await store.query("due_limits", now=10, count_max=100) == []
        await store.query("queue_names")

    times: list[float] = []
    for number in range(0, count, max(1, count // 40)):
        began = time.perf_counter()
        await ask(number)
        times.append(time.perf_counter() - began)
    return sorted(times)[len(times) // 4] * 1000


@pytest.mark.alone
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_what_is_blocked_costs_nothing_however_much_it_is(
    kind: str, tmp_path: Path, postgres_server: servers.PostgresServer
) -> None:
    async def opened(name: str) -> Store:
        if kind == "sqlite":
            migrate_sqlite.migrate(str(tmp_path / name))
            return SqliteStore(str(tmp_path / name))
        url = postgres_server.new_database()
        await migrate_postgres.migrate(url)
        return await PostgresStore.open(url)

    cost: dict[int, float] = {}
    for count in (10, MANY):
        store = await opened(f"{count}.db")
        try:
            await fill(store, count)
            cost[count] = await cost_ms(store, count)
        finally:
            await store.close()
    print(f"{kind}: {cost[10]:.2f} ms with ten keys, {cost[MANY]:.2f} ms with {MANY:,}")
    assert cost[MANY] <= 3 * cost[10] + 1

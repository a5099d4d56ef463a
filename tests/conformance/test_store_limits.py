"""Rows that are held, and tasks that wait for a limit, on every store."""

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from tests.conformance.conftest import Open
from tests.conformance.rows import a_run, a_task
from windlass.model.limits import LimitUse
from windlass.model.rows import Run, Task
from windlass.model.states import TaskState
from windlass.ports.store import Raced, Store, Writes

pytestmark = pytest.mark.anyio


def use(key: str = "default bank", **columns: Any) -> LimitUse:
    tenant, _, name = key.partition(" ")
    return replace(LimitUse(id=key, tenant=tenant, key=name), **columns)


async def test_a_row_that_is_not_there_is_held_as_it_is_given(store: Store) -> None:
    async with store.session() as session:
        held = await session.hold([use("default b"), use("default a", max=3)])
        assert held == [use("default b"), use("default a", max=3)]
        mine = replace(held[1], in_use=1)
        await session.save(Writes(made={LimitUse: {mine.id: mine}}))
    async with store.session() as session:
        assert await session.hold([use("default a")]) == [mine]


async def test_two_that_count_the_same_row_count_both_or_one_is_told(open_store: Open) -> None:
    """A store keeps the second waiting, or refuses its save: no count is ever lost."""
    stores = [await open_store() for _ in range(2)]

    async def count_once(store: Store) -> None:
        while True:
            try:
                async with store.session() as session:
                    held = (await session.hold([use()]))[0]
                    await asyncio.sleep(0)
                    one_more = replace(held, in_use=held.in_use + 1)
                    await session.save(Writes(made={LimitUse: {held.id: one_more}}))
                return
            except Raced:
                continue

    async def count(store: Store) -> None:
        for _ in range(20):
            await count_once(store)

    await asyncio.gather(*(count(store) for store in stores))
    async with stores[0].session() as session:
        assert (await session.rows(LimitUse, ["default bank"]))[0].in_use == 40


async def test_a_row_removed_by_another_is_made_anew(open_store: Open) -> None:
    one, two = await open_store(), await open_store()
    async with one.session() as session:
        row = (await session.hold([use()]))[0]
        await session.save(Writes(made={LimitUse: {row.id: replace(row, in_use=4)}}))
    async with two.session() as session:
        await session.save(Writes(removed={LimitUse: {"default bank"}}))
    async with one.session() as session:
        row = (await session.hold([use()]))[0]
        assert row.in_use == 0
        await session.save(Writes(made={LimitUse: {row.id: replace(row, in_use=1)}}))
    async with two.session() as session:
        assert (await session.rows(LimitUse, ["default bank"]))[0].in_use == 1


async def test_who_waits_for_a_limit_is_found_by_priority_and_age(store: Store) -> None:
    run = a_run()
    waiting = [
        (1, 0, 30, "default bank"),
        (2, 0, 20, "default bank"),
        (3, 5, 40, "default bank"),
        (4, 0, 10, "default other"),
        (5, 0, 5, None),
    ]
    tasks = [
        a_task(
            f"{run.id}~n.{n}",
            state=TaskState.WAITING,
            priority=priority,
            ready_at=ready_at,
            parked=limit,
        )
        for n, priority, ready_at, limit in waiting
    ]
    async with store.session() as session:
        rows = {task.id: task for task in tasks}
        await session.save(Writes(made={Run: {run.id: run}, Task: dict(rows)}))
    async with store.session() as session:
        assert await session.parked({"default bank": 2}) == [tasks[2], tasks[1]]
        found = await session.parked({"default bank": 9, "default other": 9, "default no": 9})
        assert found == [tasks[2], tasks[1], tasks[0], tasks[3]]


async def test_limits_whose_time_has_come_are_found(store: Store) -> None:
    rows = [use("default a", wake_at=10), use("default b", wake_at=30), use("default c")]
    async with store.session() as session:
        await session.save(Writes(made={LimitUse: {row.id: row for row in rows}}))
    found = await store.query("due_limits", now=20, count_max=10)
    assert found == [{"id": "default a", "wake_at": 10}]

"""Signs of life and goodbyes that meet."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from msgspec.structs import replace

from windlass.engine import workers
from windlass.engine.engine import Engine
from windlass.engine.jobs import Outdated
from windlass.model.rows import Worker
from windlass.testing.local import local_engine
from windlass.testing.memory import MemoryDatabase, MemoryStore

pytestmark = pytest.mark.anyio


async def test_a_sign_of_life_does_not_undo_a_goodbye() -> None:
    async with local_engine({}) as local:
        engine = local.engine
        await workers.register(engine, "w", transport="pull", services=["s"])
        for _ in range(20):
            await asyncio.gather(workers.heartbeat(engine, "w"), workers.leave(engine, "w"))
            row = await workers.get_worker(engine, "w")
            assert row is not None
            assert row.state == "offline"
            assert not await workers.heartbeat(engine, "w"), "it has to register again"
            await workers.register(engine, "w", transport="pull", services=["s"])
            assert await workers.heartbeat(engine, "w")


async def test_two_servers_that_change_one_worker_undo_nothing_of_each_other() -> None:
    async with two_engines() as (one, two):
        await workers.register(one, "w", transport="pull", services=["s"])
        for round_ in range(20):
            await asyncio.gather(
                workers.heartbeat(one, "w", round_),
                workers.leave(two, "w"),
                workers.heartbeat(two, "w"),
            )
            row = await workers.get_worker(one, "w")
            assert row is not None
            assert row.state == "offline"
            await workers.register(two, "w", transport="pull", services=["s"])


@asynccontextmanager
async def two_engines() -> AsyncGenerator[tuple[Engine, Engine]]:
    """Two processes on one database."""
    database = MemoryDatabase(lambda: 1_000)
    engines = Engine(MemoryStore(database, "a")), Engine(MemoryStore(database, "b"))
    duties = [asyncio.ensure_future(engine.advance.run()) for engine in engines]
    try:
        yield engines
    finally:
        for duty in duties:
            duty.cancel()
        await asyncio.gather(*duties, return_exceptions=True)


async def test_a_stale_sign_of_life_does_not_have_the_rest_of_its_pass_done_again() -> None:
    async with local_engine({}) as local:
        engine = local.engine
        read = await workers.register(engine, "w", transport="pull", services=["s"])
        await workers.heartbeat(engine, "w", 5)
        before = engine.advance.passes
        stale = engine.write(changed=(replace(read, load=9),), stands=(read,))
        others = [workers.register(engine, f"w{n}", transport="pull") for n in range(5)]
        told, *made = await asyncio.gather(stale, *others, return_exceptions=True)
        assert isinstance(told, Outdated)
        assert [row.id for row in made if isinstance(row, Worker)] == [f"w{n}" for n in range(5)]
        assert engine.advance.passes == before + 1
        row = await workers.get_worker(engine, "w")
        assert row is not None
        assert row.load == 5

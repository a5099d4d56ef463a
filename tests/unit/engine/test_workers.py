"""Signs of life and goodbyes that meet."""

import asyncio

import pytest

from windlass.engine import workers
from windlass.testing.local import local_engine

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
    assert not engine.worker_locks

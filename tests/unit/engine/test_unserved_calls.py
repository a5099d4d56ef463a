"""Calls nobody is there for fail after a grace, and not a moment before."""

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from windlass.engine import flows, runs, workers
from windlass.engine.engine import Engine
from windlass.engine.loops.unserved import UnservedCalls
from windlass.model.rows import Run, Worker
from windlass.model.states import RunState
from windlass.testing.memory import MemoryDatabase, MemoryStore

pytestmark = pytest.mark.anyio

GRACE_MS = 10_000


class Hands:
    """A clock that stands until it is moved."""

    now = 1_800_000_000_000

    def __call__(self) -> int:
        return self.now


@pytest.mark.parametrize("seen", [False, True])
async def test_a_call_nobody_is_there_for_fails_when_its_grace_is_over(seen: bool) -> None:
    hands = Hands()
    database = MemoryDatabase(hands)
    engine = Engine(MemoryStore(database, "one"), name="one")
    engine.settings = replace(engine.settings, no_worker_s=GRACE_MS / 1000)
    calls = UnservedCalls(engine)
    passes = asyncio.ensure_future(engine.advance.run())
    try:
        node: dict[str, Any] = {"service": "s", "max_retries": 0}
        definition = {"start": "a", "nodes": {"a": node}, "on_failure": "fail"}
        published = await flows.publish(engine, "theirs", definition)
        target = replace(published.target, dialect=flows.POCKETFLOW)
        run_id = (await runs.start_run(engine, target)).run.id
        assert await calls.run_once() == 0
        hands.now += GRACE_MS - 1
        assert await calls.run_once() == 0
        if seen:
            # Somebody was there for a moment: from when it is gone the grace begins anew.
            await workers.register(engine, "w", transport="push", services=["s"])
            assert await calls.run_once() == 0
            await engine.write(removed={Worker: {"w"}})
            hands.now += 1
            assert await calls.run_once() == 0
            assert database.table(Run)[run_id].state is RunState.RUNNING
            hands.now += GRACE_MS - 1
        late = (await runs.start_run(engine, target)).run.id
        hands.now += 1
        assert await calls.run_once() == 1
        assert database.table(Run)[late].state is RunState.RUNNING, "it has a grace of its own"
        run = database.table(Run)[run_id]
        assert (run.state, "no worker" in str(run.error)) == (RunState.FAILED, True)
    finally:
        passes.cancel()
        await asyncio.gather(passes, return_exceptions=True)

"""Timers and leases that can never be decided stay due: whatever is due after them goes on."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from msgspec.structs import replace

from windlass.engine import flows, runs
from windlass.engine.attempts import Attempts
from windlass.engine.engine import Engine
from windlass.engine.loops.leases import Leases
from windlass.engine.loops.timers import Timers
from windlass.kernel.events import LeaseExpired, TimerFired
from windlass.model.ids import run_of
from windlass.model.rows import Attempt, Run
from windlass.model.states import AttemptState, RunState
from windlass.testing.local import real_ms
from windlass.testing.memory import MemoryDatabase, MemoryStore

pytestmark = pytest.mark.anyio

REFUSED = 5
BATCH = 2
"""Fewer than are refused: their page would be full of them for ever."""


class Bench:
    """An engine whose events of some runs are refused whatever is tried, even to end those runs."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.database = MemoryDatabase(real_ms)
        self.engine = Engine(MemoryStore(self.database, "one"), name="one")
        self.engine.settings = replace(self.engine.settings, lease_s=0.01, look_s=60.0)
        self.refused: set[str] = set()
        submit = self.engine.submit

        async def picky(event: Any, *along: Any) -> Any:
            if isinstance(event, TimerFired | LeaseExpired):
                id_ = event.run_id if isinstance(event, TimerFired) else run_of(event.attempt_id)
                if id_ in self.refused:
                    raise KeyError("it cannot be stored, nor can the end of its run")
            return await submit(event, *along)

        monkeypatch.setattr(self.engine, "submit", picky)

    async def start(self, node: dict[str, Any], count: int) -> list[str]:
        definition = {"start": "a", "nodes": {"a": node}, "edges": []}
        published = await flows.publish(self.engine, "flow", definition)
        started = [await runs.start_run(self.engine, published.target) for _ in range(count)]
        return [one.run.id for one in started]


@asynccontextmanager
async def bench(monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Bench]:
    made = Bench(monkeypatch)
    loop = asyncio.ensure_future(made.engine.advance.run())
    try:
        yield made
    finally:
        loop.cancel()
        await asyncio.gather(loop, return_exceptions=True)


async def test_a_timer_fires_behind_more_refused_ones_than_a_look_brings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with bench(monkeypatch) as made:
        ids = await made.start({"kind": "timer", "params": {"delay_ms": 1}}, REFUSED + 1)
        made.refused = set(ids[:-1])
        await asyncio.sleep(0.01)
        timers = Timers(made.engine, batch_max=BATCH)
        for _ in range(REFUSED):
            await timers.run_once()
        assert made.database.table(Run)[ids[-1]].state is RunState.SUCCEEDED


async def test_work_is_taken_back_behind_more_refused_leases_than_a_look_brings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with bench(monkeypatch) as made:
        ids = await made.start({"exec_type": "queue", "service": "s"}, REFUSED + 1)
        work = Attempts(made.engine)
        given = list[str]()
        while len(given) <= REFUSED:
            given += [a.run_id for a in await work.claim("w", ["pull:s"], 1, 5)]
        last = given[-1]
        made.refused = {id_ for id_ in ids if id_ != last}
        await asyncio.sleep(0.02)
        leases = Leases(made.engine, batch_max=BATCH)
        for _ in range(REFUSED):
            await leases.run_once()
        [attempt] = made.database.of_run(Attempt, last)
        assert attempt.state is AttemptState.LOST

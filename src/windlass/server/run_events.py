"""The one cursor over a run's events: by `seq`, without a gap, for whoever streams them."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from typing import cast

from windlass.engine.engine import Engine
from windlass.model.rows import Event, Run
from windlass.model.states import RUN_ENDED
from windlass.ports.store import Cond, Writes

EVENTS_MAX = 1000
_KEEPALIVE_S = 10.0


async def events_after(engine: Engine, run_id: str, after: int, limit: int) -> list[Event]:
    where = [Cond("run_id", "=", run_id), Cond("seq", ">", after)]
    return await engine.store.page(Event, where, order="seq", limit=limit)


async def events_between(
    engine: Engine, run_id: str, after: int, before: int, limit: int
) -> list[Event]:
    where = [Cond("run_id", "=", run_id), Cond("seq", ">", after), Cond("seq", "<", before)]
    return await engine.store.page(Event, where, order="seq", limit=limit)


async def follow(
    engine: Engine, run_id: str, after: int, keepalive_s: float
) -> AsyncGenerator[Event | None]:
    """Events of a run by `seq`, without a gap, until it has ended; None when nothing has come for
    so long."""
    moved = asyncio.Event()
    idle_s = 0.0
    with engine.feed.runs.watching(run_id, moved):
        while True:
            moved.clear()
            rows = await events_after(engine, run_id, after, EVENTS_MAX)
            for row in rows:
                after = row.seq
                yield row
            if len(rows) == EVENTS_MAX:
                continue
            if not rows and await has_ended(engine, run_id, after):
                return
            if rows:
                idle_s = 0.0
                continue
            try:
                async with asyncio.timeout(engine.settings.look_s):
                    await moved.wait()
            except TimeoutError:
                idle_s += engine.settings.look_s
                if idle_s >= keepalive_s:
                    idle_s = 0.0
                    yield None


async def has_ended(engine: Engine, run_id: str, seq: int) -> bool:
    async with engine.store.session() as session:
        rows = await session.rows(Run, [run_id])
    return not rows or (rows[0].state in RUN_ENDED and rows[0].seq <= seq)


def sse(id_: str, event: str, data: bytes) -> bytes:
    """One server-sent event."""
    return b"id: %s\nevent: %s\ndata: %s\n\n" % (id_.encode(), event.encode(), data)


async def any_set(*events: asyncio.Event) -> bool:
    """Wait until one of the events is set; False when it is time for a sign of life."""
    waits = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        done, _ = await asyncio.wait(waits, timeout=_KEEPALIVE_S, return_when="FIRST_COMPLETED")
    finally:
        for wait in waits:
            wait.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await wait
    return bool(done)


def run_after(writes: Writes, run_id: str) -> Run | None:
    """A run as it stands after a commit that moved it."""
    row = writes.changed.get(Run, {}).get(run_id) or writes.made.get(Run, {}).get(run_id)
    return cast("Run | None", row)

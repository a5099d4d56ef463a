"""Fires timers when they are due, and sleeps until the next one is."""

import asyncio
from typing import Any

from windlass.engine.engine import Engine
from windlass.engine.loops.forever import raise_outage
from windlass.kernel.events import TimerFired
from windlass.model.rows import Timer
from windlass.ports.store import Cond

_WAIT_S = 0.02
"""How long to wait for what was fired before looking for what is due since. The timers of a run
that costs much wait for its turn, and nobody else's should wait for them."""


class Timers:
    def __init__(self, engine: Engine, batch_max: int = 500) -> None:
        self._engine = engine
        self._batch_max = batch_max
        self._next_due_at: int | None = None
        self._fired: dict[str, asyncio.Future[Any]] = {}
        """Timers that were fired and may not be decided yet."""
        self._refused: set[str] = set()
        """Timers that stay due, passed over until the next look at everything."""
        self._refused_since = 0

    async def run_once(self) -> int:
        feed, store = self._engine.feed, self._engine.store
        feed.timers.clear()
        feed.timers_due_at = None
        self._reap()
        now = store.now()
        if now - self._refused_since > self._engine.settings.look_s * 1000:
            self._refused, self._refused_since = set(), now
        limit = self._batch_max + len(self._fired) + len(self._refused)
        due = await store.page(Timer, [Cond("due_at", "<=", now)], order="due_at", limit=limit)
        rows = [row for row in due if row.id not in self._fired and row.id not in self._refused]
        fired: dict[str, asyncio.Future[Any]] = {
            row.id: asyncio.ensure_future(self._engine.submit(TimerFired(row.id, row.run_id)))
            for row in rows
        }
        self._fired |= fired
        if fired:
            await asyncio.wait(fired.values(), timeout=_WAIT_S)
            self._reap()
        else:
            # Timers that are refused stay due; they are tried again at the next look.
            found = await store.query("next_due", now=now)
            self._next_due_at = found[0]["due_at"]
        return len(rows)

    def _reap(self) -> None:
        """Forget what has been decided since, and note what was refused."""
        over = {id_: fired for id_, fired in self._fired.items() if fired.done()}
        for id_ in over:
            del self._fired[id_]
        results = {id_: fired.exception() for id_, fired in over.items()}
        self._refused |= {id_ for id_, error in results.items() if error is not None}
        raise_outage(list(results.values()))

    async def pause(self) -> None:
        """Sleep until the next timer, a new earlier one, or the next look all the same."""
        wait_s = self._engine.settings.look_s
        if self._next_due_at is not None:
            wait_s = min(wait_s, (self._next_due_at - self._engine.store.now()) / 1000)
        feed = self._engine.feed
        while wait_s > 0:
            try:
                async with asyncio.timeout(wait_s):
                    await feed.timers.wait()
            except TimeoutError:
                return
            feed.timers.clear()
            due_at = feed.timers_due_at
            if due_at is None:
                return
            wait_s = min(wait_s, (due_at - self._engine.store.now()) / 1000)

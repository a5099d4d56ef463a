"""Fires timers when they are due, and sleeps until the next one is."""

import asyncio

from windlass.engine.engine import Engine
from windlass.engine.loops.forever import PassedOver
from windlass.kernel.events import TimerFired
from windlass.model.rows import Timer
from windlass.ports.store import Cond


class Timers:
    def __init__(self, engine: Engine, batch_max: int = 500) -> None:
        self._engine = engine
        self._batch_max = batch_max
        self._passed_over = PassedOver(engine.settings.look_s * 1000)
        self._next_due_at: int | None = None

    async def run_once(self) -> int:
        feed, store = self._engine.feed, self._engine.store
        feed.timers.clear()
        feed.timers_due_at = None
        now = store.now()
        due = [Cond("due_at", "<=", now)]
        rows = await store.page(
            Timer, due, order="due_at", limit=self._batch_max, offset=self._passed_over.count(now)
        )
        results = await asyncio.gather(
            *(self._engine.submit(TimerFired(row.id, row.run_id)) for row in rows),
            return_exceptions=True,
        )
        self._passed_over.add(results)
        if not rows:
            # Timers that are refused stay due; they are tried again at the next look.
            found = await store.query("next_due", now=now)
            self._next_due_at = found[0]["due_at"]
        return len(rows)

    async def pause(self) -> None:
        """Sleep until the next timer, a new earlier one, or the next look all the same."""
        wait_s = self._engine.settings.look_s
        if self._next_due_at is not None:
            wait_s = min(wait_s, (self._next_due_at - self._engine.store.now()) / 1000)
        feed = self._engine.feed
        while wait_s > 0:
            try:
                await asyncio.wait_for(feed.timers.wait(), wait_s)
            except TimeoutError:
                return
            feed.timers.clear()
            due_at = feed.timers_due_at
            if due_at is None:
                return
            wait_s = min(wait_s, (due_at - self._engine.store.now()) / 1000)

"""Looks at limits when their time has come: a rate allows the next attempt, a pause is over."""

import asyncio

from windlass.engine.engine import Engine

_BATCH_MAX = 1_000


class LimitWakes:
    """Every process wakes what it has committed itself, to the moment; what a process that is gone
    would have woken is found in the store, at the look at everything."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._next_look = 0

    async def run_once(self) -> int:
        engine = self._engine
        limiting, store = engine.advance.limiting, engine.store
        limiting.news.clear()
        now = store.now()
        keys = limiting.woken(now)
        if now >= self._next_look:
            self._next_look = now + int(engine.settings.look_s * 1000)
            rows = await store.query("due_limits", now=now, count_max=_BATCH_MAX)
            keys += [row["id"] for row in rows]
            engine.advance.look_at_limits(limiting.take_put_off(), probe=True)
        engine.advance.look_at_limits(keys)
        return 0

    async def pause(self) -> None:
        """Sleep until the next key is due, an earlier one comes up, or the next look."""
        engine = self._engine
        at = engine.advance.limiting.next_at()
        due = self._next_look if at is None else min(at, self._next_look)
        wait_s = (due - engine.store.now()) / 1000
        if wait_s > 0:
            try:
                async with asyncio.timeout(wait_s):
                    await engine.advance.limiting.news.wait()
            except TimeoutError:
                return

"""Hears what other processes committed, and looks at everything now and then regardless."""

import asyncio

from windlass.engine.engine import Engine
from windlass.engine.notices import read

_STOPS_MAX = 1_000


class NoticeListener:
    """Wakes this process's demand, watchers and holders when another process moved something."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._began = False
        self._look_at = 0.0
        """When everything is looked at again, whatever was heard till then."""

    async def run_once(self) -> int:
        engine = self._engine
        if not self._began:
            # Nobody announces what was there before.
            await engine.refresh_limits()
            self._began = True
            self._look_at = self._now() + engine.settings.look_s
        try:
            # Not only in a silence: of two busy processes, neither hears one.
            async with asyncio.timeout_at(self._look_at):
                heard = await engine.store.notices()
        except TimeoutError:
            await self._look_at_everything()
            return 0
        if not heard:
            # Something was missed, or nobody can tell what it was.
            await self._look_at_everything()
            engine.feed.wake_all()
            engine.feed.mail()
            engine.feed.connected_elsewhere(None)
            for row in await engine.store.query("stopping", count_max=_STOPS_MAX):
                engine.feed.stop(row["id"], row["worker_id"])
            return 0
        news = read(heard)
        for queue in news.queues:
            engine.handlers.learn_queue(queue)
        if news.queues:
            engine.advance.look_again(news.queues)
            engine.advance.tell_unserved(news.queues)
        engine.feed.moved_elsewhere(news.runs)
        engine.feed.logged(news.logs)
        for attempt_id, worker_id in news.stops:
            engine.feed.stop(attempt_id, worker_id)
        if news.workers:
            engine.feed.connected_elsewhere(news.workers)
        if news.mail:
            engine.feed.mail()
        if news.limits:
            await engine.refresh_limits()
        if news.tenants:
            await engine.refresh_tenants()
        if self._now() >= self._look_at:
            await self._look_at_everything()
        return len(heard)

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()

    async def _look_at_everything(self) -> None:
        self._look_at = self._now() + self._engine.settings.look_s
        await self._engine.refresh_tenants()
        await self._engine.refresh_limits()
        # A notice that was missed may have been the only one to name a handler, or a queue that
        # nobody serves.
        queues = {row["queue"] for row in await self._engine.store.query("queue_names")}
        for queue in queues:
            self._engine.handlers.learn_queue(queue)
        self._engine.advance.look_again()
        self._engine.advance.tell_unserved(queues)

    async def pause(self) -> None:
        """`run_once` has already waited."""

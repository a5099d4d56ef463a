"""Hears what other processes committed, and looks at everything now and then regardless."""

import asyncio

from windlass.engine.engine import Engine
from windlass.engine.notices import read


class NoticeListener:
    """Wakes this process's demand, watchers and holders when another process moved something."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def run_once(self) -> int:
        engine = self._engine
        try:
            async with asyncio.timeout(engine.settings.look_s):
                heard = await engine.store.notices()
        except TimeoutError:
            engine.advance.look_again()
            return 0
        if not heard:
            # Something was missed, or nobody can tell what it was.
            engine.advance.look_again()
            engine.feed.wake_all()
            return 0
        news = read(heard)
        for queue in news.queues:
            engine.handlers.learn_queue(queue)
        if news.queues:
            engine.advance.look_again(news.queues)
        engine.feed.moved_elsewhere(news.runs)
        for attempt_id, worker_id in news.stops:
            engine.feed.stop(attempt_id, worker_id)
        return len(heard)

    async def pause(self) -> None:
        """`run_once` has already waited."""

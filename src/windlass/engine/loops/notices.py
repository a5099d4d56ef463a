"""Hears what other processes committed, and looks at everything now and then regardless."""

import asyncio

from windlass.engine.engine import Engine


class NoticeListener:
    """Wakes this process's demand and watchers when another process queued or moved something."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def run_once(self) -> int:
        try:
            async with asyncio.timeout(self._engine.settings.look_s):
                notices = await self._engine.store.notices()
        except TimeoutError:
            notices = []
        queues = {
            notice.removeprefix("queue ") for notice in notices if notice.startswith("queue ")
        }
        for queue in queues:
            self._engine.handlers.learn_queue(queue)
        self._engine.advance.look_again(queues or None)
        if notices:
            self._engine.feed.wake_all()
        return len(notices)

    async def pause(self) -> None:
        """`run_once` has already waited."""

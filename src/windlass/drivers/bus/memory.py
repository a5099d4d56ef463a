"""A bus within one process: nothing is kept, and only who is here listens."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager

from windlass.ports.bus import DEDUPE_S, Message, begins_with

_WAITING_MAX = 10_000


class MemoryBus:
    def __init__(self) -> None:
        self._listeners: dict[asyncio.Queue[Message], str] = {}
        self._seen: OrderedDict[str, float] = OrderedDict()

    async def publish(self, messages: Sequence[Message]) -> None:
        now = time.monotonic()
        while self._seen and next(iter(self._seen.values())) < now - DEDUPE_S:
            self._seen.popitem(last=False)
        for message in messages:
            if message.id in self._seen:
                continue
            self._seen[message.id] = now
            for queue, beginning in self._listeners.items():
                if begins_with(message.subject, beginning):
                    if queue.full():
                        queue.get_nowait()  # as a bus that keeps only so much would
                    queue.put_nowait(message)

    @asynccontextmanager
    async def subscribe(self, beginning: str) -> AsyncGenerator[AsyncIterator[Message]]:
        queue: asyncio.Queue[Message] = asyncio.Queue(_WAITING_MAX)
        self._listeners[queue] = beginning

        async def messages() -> AsyncIterator[Message]:
            while True:
                yield await queue.get()

        try:
            yield messages()
        finally:
            del self._listeners[queue]

    async def close(self) -> None:
        self._listeners.clear()

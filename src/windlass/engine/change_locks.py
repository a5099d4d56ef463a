"""Locks: those in this process who change the same thing do so one after the other.

A change is written only if its row still is as it was read. Of many who read at the same moment
one has its way and the others read again, so without locks the last of a hundred would try a
hundred times. Other processes have none of these: against them, a few tries are enough.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Hashable
from contextlib import asynccontextmanager
from typing import TypeVar

from windlass.engine.jobs import Outdated
from windlass.model.errors import Conflict, Unavailable

T = TypeVar("T")

_TRIES = 8


class _Lock:
    __slots__ = ("lock", "wanted")

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.wanted = 0
        """By how many, so that it is forgotten with the last."""


class ChangeLocks:
    def __init__(self) -> None:
        self._by_key: dict[Hashable, _Lock] = {}

    @asynccontextmanager
    async def of(self, key: Hashable) -> AsyncGenerator[None]:
        """While this lasts, nobody else here has the lock of the same key."""
        known = self._by_key.setdefault(key, _Lock())
        known.wanted += 1
        try:
            async with known.lock:
                yield
        finally:
            known.wanted -= 1
            if not known.wanted:
                del self._by_key[key]

    async def make(self, key: Hashable, attempt: Callable[[], Awaitable[T]]) -> T:
        """Do under the lock what looks for something and makes it if it is not there. If another
        process makes or changes the same at the same moment, it looks again."""
        async with self.of(key):
            for _ in range(_TRIES):
                try:
                    return await attempt()
                except (Conflict, Unavailable, Outdated):
                    continue
            return await attempt()

    def __len__(self) -> int:
        return len(self._by_key)

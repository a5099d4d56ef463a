"""Turns: those in this process who change the same thing do so one after the other.

A change is written only if its row still is as it was read. Of many who read at the same moment
one has its way and the others read again, so without turns the last of a hundred would try a
hundred times. Other processes keep none of these turns: against them, a few tries are enough.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Hashable
from contextlib import asynccontextmanager
from typing import TypeVar

from windlass.model.errors import Conflict, Unavailable

T = TypeVar("T")

_TRIES = 8


class _Turn:
    __slots__ = ("lock", "wanted")

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.wanted = 0
        """By how many, so that it is forgotten with the last."""


class Turns:
    def __init__(self) -> None:
        self._by_key: dict[Hashable, _Turn] = {}

    @asynccontextmanager
    async def of(self, key: Hashable) -> AsyncGenerator[None]:
        """While this lasts, nobody else here has the turn of the same key."""
        turn = self._by_key.setdefault(key, _Turn())
        turn.wanted += 1
        try:
            async with turn.lock:
                yield
        finally:
            turn.wanted -= 1
            if not turn.wanted:
                del self._by_key[key]

    async def make(self, key: Hashable, attempt: Callable[[], Awaitable[T]]) -> T:
        """Do in turn what looks for something and makes it if it is not there. If somebody in
        another process makes the same at the same moment, it looks again."""
        async with self.of(key):
            for _ in range(_TRIES):
                try:
                    return await attempt()
                except (Conflict, Unavailable):
                    continue
            return await attempt()

    def __len__(self) -> int:
        return len(self._by_key)

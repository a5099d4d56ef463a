"""Lines that come one by one, taken many at a time."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

import anyio

from windlass.kube.api import KubeRefused
from windlass.model.errors import Unavailable

WAITING_MAX = 2_000
"""More are left with whoever sends them, until these are taken."""


class GatheredLines:
    """What a source has said and nobody has taken yet."""

    def __init__(self, source: AsyncGenerator[list[bytes]]) -> None:
        self._source = source
        self._lines: list[bytes] = []
        self._failure: KubeRefused | Unavailable | None = None
        self._ended = False
        self._news, self._room = anyio.Event(), anyio.Event()

    async def read(self) -> None:
        """Read the source to its end; run this beside whoever takes."""
        try:
            async with aclosing(self._source) as source:
                async for lines in source:
                    self._lines += lines
                    self._news.set()
                    if len(self._lines) >= WAITING_MAX:
                        self._room = anyio.Event()
                        await self._room.wait()
        except (KubeRefused, Unavailable) as error:
            self._failure = error
        self._ended = True
        self._news.set()

    async def take(self) -> list[bytes]:
        """Everything that has come, at least one line; nothing at the end, or what went wrong."""
        while not self._lines and not self._ended:
            self._news = anyio.Event()
            await self._news.wait()
        taken, self._lines = self._lines, []
        self._room.set()
        if not taken and self._failure is not None:
            raise self._failure
        return taken

"""Row locks as a shared database has them: waiting in turn, skipping, and crosswise waits."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from windlass.ports.store import Raced


class RowLocks:
    """Which session holds which row. A session's locks end with it."""

    def __init__(self) -> None:
        self._holders: dict[Any, object] = {}
        self._held: defaultdict[object, list[Any]] = defaultdict(list)
        self._waits_for: dict[object, object] = {}
        self._waiters: defaultdict[object, list[asyncio.Future[None]]] = defaultdict(list)

    def try_take(self, session: object, key: Any) -> bool:
        """Lock a row unless another session has it."""
        holder = self._holders.setdefault(key, session)
        if holder is not session:
            return False
        if key not in self._held[session]:
            self._held[session].append(key)
        return True

    async def take(self, session: object, keys: Iterable[Any]) -> None:
        """Lock rows, waiting for whoever has them; `Raced` when two wait for each other."""
        for key in keys:
            while not self.try_take(session, key):
                await self._wait(session, self._holders[key])

    async def _wait(self, session: object, holder: object) -> None:
        other: object | None = holder
        while other is not None:
            if other is session:
                raise Raced("two sessions wait for each other")
            other = self._waits_for.get(other)
        freed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters[holder].append(freed)
        self._waits_for[session] = holder
        try:
            await freed
        finally:
            self._waits_for.pop(session, None)

    def release(self, session: object) -> None:
        for key in self._held.pop(session, ()):
            del self._holders[key]
        self._waits_for.pop(session, None)
        for freed in self._waiters.pop(session, ()):
            if not freed.done():
                freed.set_result(None)

"""What a process knows of limits between passes: the rules, and which keys to look at when."""

import asyncio
from heapq import heappop, heappush
from typing import cast

from windlass.engine.limits.rules import Rules
from windlass.model.limits import LimitUse
from windlass.ports.store import Writes


class LimitState:
    """Shared by all passes of a process; everything in it can be read again from the store."""

    def __init__(self) -> None:
        self.rules = Rules()
        self.due: dict[str, bool] = {}
        """Keys the next pass looks at; True where whoever waits is to be tried at all events, as
        what the key allows may be another by now."""
        self._put_off: set[str] = set()
        self._wakes: list[tuple[int, str]] = []
        self._wake_at: dict[str, int] = {}
        """The one time that counts of each key in `_wakes`."""
        self.news = asyncio.Event()
        """Set when the next time is an earlier one."""

    def look_at(self, keys: dict[str, bool]) -> None:
        for key, probe in keys.items():
            self.due[key] = self.due.get(key, False) or probe

    def take_due(self) -> dict[str, bool]:
        due, self.due = self.due, {}
        return due

    def put_off(self) -> None:
        """The pass that was to look has failed. What is due by its time is found in the store at
        the next look; that somebody is to be tried at all events is known only here."""
        self._put_off |= {key for key, probe in self.take_due().items() if probe}

    def take_put_off(self) -> set[str]:
        keys, self._put_off = self._put_off, set()
        return keys

    def committed(self, writes: Writes) -> None:
        """Remember when to look at the keys a commit has changed."""
        for use in cast("dict[str, LimitUse]", writes.made.get(LimitUse, {})).values():
            self.wake(use.id, use.wake_at)
            if use.paused_until:
                self.rules.paused((use,), use.used_at)

    def wake(self, key: str, at: int | None) -> None:
        if at is None:
            self._wake_at.pop(key, None)
        elif self._wake_at.get(key) != at:
            self._wake_at[key] = at
            heappush(self._wakes, (at, key))
            if self._wakes[0][1] == key:
                self.news.set()

    def woken(self, now: int) -> list[str]:
        """Keys whose time has come."""
        keys: list[str] = []
        while (at := self.next_at()) is not None and at <= now:
            _, key = heappop(self._wakes)
            del self._wake_at[key]
            keys.append(key)
        return keys

    def next_at(self) -> int | None:
        """When the next key is to be looked at."""
        wakes = self._wakes
        while wakes and self._wake_at.get(wakes[0][1]) != wakes[0][0]:
            heappop(wakes)
        return wakes[0][0] if wakes else None

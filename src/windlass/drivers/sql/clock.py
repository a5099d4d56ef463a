"""The database's time in this process: it follows the wall clock, and never waits for it.

Timers and leases are due at times. Were the clock set back, a process that only refused to go
backwards would stand still until the clock had caught up, and everything due with it.
"""

import time
from collections.abc import Callable

_SLEW_MS = 1_000
"""A clock that is this little behind is being corrected gently; it is followed."""


def _wall_ms() -> int:
    return time.time_ns() // 1_000_000


def _monotonic_ms() -> int:
    return time.monotonic_ns() // 1_000_000


class SteadyClock:
    """Follows a clock forwards; once that is set back, goes on at the pace of a monotonic one."""

    def __init__(
        self,
        wall: Callable[[], int] | None = None,
        monotonic: Callable[[], int] | None = None,
    ) -> None:
        self._wall = wall or _wall_ms
        self._monotonic = monotonic or _monotonic_ms
        self._now = self._wall()
        self._at = self._monotonic()

    def now(self) -> int:
        wall, at = self._wall(), self._monotonic()
        if wall >= self._now - _SLEW_MS:
            self._now = max(self._now, wall)
        else:
            self._now += max(0, at - self._at)
        self._at = at
        return self._now

    def not_before(self, stored: int | None) -> None:
        """Go on from the newest time that was stored, if the clock was set back since.

        However far: a process that took an earlier time would fire no timer that was set before,
        and another that went on would take back its leases as soon as they were given.
        """
        if stored is not None:
            self._now = max(self._now, stored)

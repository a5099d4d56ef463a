"""The one way a background loop runs: pass after pass, through failures, until it is cancelled.

A loop that fails is logged, counted and tried again, a little later each time; `Duties` knows how
each of them is, for whoever asks whether this process is well.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from windlass.model.errors import Unavailable

log = logging.getLogger(__name__)

_PAUSE_S_MAX = 5.0
_WELL_S = 1.0
"""For how long something that is begun anew has to go on before it counts as well again."""


class Loop(Protocol):
    """One background duty."""

    async def run_once(self) -> int:
        """Move what is due; returns how much that was."""
        ...

    async def pause(self) -> None:
        """Wait until there may be more to do."""
        ...


class Duty:
    """How one loop is doing."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.failures = 0
        """How often it has failed since this process began."""
        self.error = ""
        self._in_a_row = 0
        self._failing_since: float | None = None

    def went_well(self) -> None:
        self._in_a_row = 0
        self._failing_since = None

    def failed(self, error: Exception) -> float:
        """Note a failure; returns how long to wait before the next try."""
        self.failures += 1
        self._in_a_row += 1
        self.error = f"{type(error).__name__}: {error}"
        if self._failing_since is None:
            self._failing_since = time.monotonic()
        step_s = error.retry_after_s if isinstance(error, Unavailable) else 0.2
        return min(_PAUSE_S_MAX, step_s * self._in_a_row)

    @property
    def failing_s(self) -> float:
        """For how long every try has failed."""
        since = self._failing_since
        return 0.0 if since is None else time.monotonic() - since


class Duties:
    """The loops of one process."""

    def __init__(self) -> None:
        self.all: dict[str, Duty] = {}

    def of(self, name: str) -> Duty:
        return self.all.setdefault(name, Duty(name))

    def failing(self, longer_than_s: float) -> list[Duty]:
        return [duty for duty in self.all.values() if duty.failing_s > longer_than_s]


async def run_forever(loop: Loop, duty: Duty | None = None) -> None:
    name = type(loop).__name__
    duty = duty or Duty(name)
    while True:
        try:
            moved = await loop.run_once()
            duty.went_well()
            if not moved:
                await loop.pause()
        except Exception as error:
            pause_s = duty.failed(error)
            if isinstance(error, Unavailable):
                log.warning("%s waits: %s", name, error)
            else:
                log.exception("%s failed; it goes on", name)
            await asyncio.sleep(pause_s)


async def restarted(work: Callable[[], Awaitable[None]], duty: Duty) -> None:
    """Something that runs until it is cancelled or is done, begun again whenever it fails."""
    while True:
        # What fails as soon as it is begun is not well in between.
        well = asyncio.get_running_loop().call_later(_WELL_S, duty.went_well)
        try:
            await work()
            duty.went_well()
            return
        except Exception as error:
            pause_s = duty.failed(error)
            log.exception("%s failed; it is begun again", duty.name)
        finally:
            well.cancel()
        await asyncio.sleep(pause_s)


def raise_outage(results: Sequence[object]) -> int:
    """How many of a loop's items were refused. One bad item is logged and holds up no other; only
    a database that is away stops them all."""
    refused = 0
    for result in results:
        if isinstance(result, Unavailable):
            raise result
        if isinstance(result, Exception):
            log.warning("one item was refused: %r", result)
            refused += 1
    return refused


class PassedOver:
    """Items at the head of a list that were refused: passed over until the next look at everything.

    They stay where they are, and whatever is due after them must not wait for them.
    """

    def __init__(self, every_ms: float) -> None:
        self._every_ms = every_ms
        self._count = 0
        self._since = 0

    def count(self, now: int) -> int:
        if now - self._since > self._every_ms:
            self._count, self._since = 0, now
        return self._count

    def add(self, results: Sequence[object]) -> None:
        """Note how many of some items were refused."""
        self._count += raise_outage(results)

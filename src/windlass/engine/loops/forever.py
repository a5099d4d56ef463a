"""The one way a background loop runs: pass after pass, through outages, until it is cancelled."""

import asyncio
import logging
from collections.abc import Sequence
from typing import Protocol

from windlass.model.errors import Unavailable

log = logging.getLogger(__name__)


class Loop(Protocol):
    """One background duty."""

    async def run_once(self) -> int:
        """Move what is due; returns how much that was."""
        ...

    async def pause(self) -> None:
        """Wait until there may be more to do."""
        ...


async def run_forever(loop: Loop) -> None:
    failures = 0
    while True:
        try:
            moved = await loop.run_once()
            failures = 0
            if not moved:
                await loop.pause()
        except Unavailable as error:
            failures += 1
            log.warning("%s waits: %s", type(loop).__name__, error)
            await asyncio.sleep(min(5.0, error.retry_after_s * failures))
        except Exception:
            failures += 1
            log.exception("%s failed; it goes on", type(loop).__name__)
            await asyncio.sleep(min(5.0, 0.2 * failures))


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

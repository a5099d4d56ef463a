"""Publishing what the spool holds: to Redis, or straight to the server.

`Publisher` takes the oldest observations, hands them on, and marks them; whoever takes them may
see one twice and knows it by its id. A sink says which it was refused for good; anything else that
goes wrong is tried again, in the same order.
"""

import logging
import time
from collections.abc import Sequence
from typing import Protocol

import anyio

from windlass.client.backoff import Backoff
from windlass.collector.metrics import CollectorMetrics
from windlass.collector.spool import Spool, SpooledEvent
from windlass.model.errors import Unavailable

log = logging.getLogger(__name__)

BATCH = 200
_GATHER_S = 0.05
"""What comes within this time travels together; a round trip for each would cost more."""


class Sink(Protocol):
    """Where observations go."""

    async def publish(self, events: Sequence[SpooledEvent]) -> Sequence[SpooledEvent]:
        """Hand over in order; those refused for good. Unavailable: ask me again."""
        ...

    async def close(self) -> None: ...


class Publisher:
    """Brings the spool's observations to a sink."""

    def __init__(self, spool: Spool, sink: Sink, metrics: CollectorMetrics) -> None:
        self._spool = spool
        self._sink = sink
        self._metrics = metrics
        self._news = anyio.Event()
        self.trouble = ""
        """Why nothing can be published at the moment."""

    def wake(self) -> None:
        self._news.set()

    async def run(self) -> None:
        """Publish until cancelled."""
        backoff = Backoff(first_s=0.1, most_s=5.0)
        while True:
            news = self._news = anyio.Event()
            try:
                moved = await self.run_once()
            except Unavailable as error:
                self._say(str(error))
                await anyio.sleep(backoff.pause_s())
                continue
            backoff.reset()
            self._say("")
            if moved:
                await anyio.sleep(_GATHER_S)
            else:
                await news.wait()

    async def run_once(self) -> int:
        """Publish the oldest observations; how many."""
        events = self._spool.oldest(BATCH)
        if not events:
            return 0
        # To its end, also when we are to stop: a sink has its own time limit, and what was taken
        # and not marked would be said twice.
        refused: set[int] = set()
        with anyio.CancelScope(shield=True):
            refused = {event.seq for event in await self._sink.publish(events)}
            self._spool.mark(events)
        now = time.time()
        for event in events:
            if event.seq in refused:
                self._metrics.failed(event.tenant)
            else:
                self._metrics.published(event.tenant, (now - event.at) * 1000)
        return len(events)

    def _say(self, trouble: str) -> None:
        """Once when it begins and once when it ends, whatever is tried in between."""
        if trouble and not self.trouble:
            log.error("%s; observations are kept and tried again", trouble)
        elif self.trouble and not trouble:
            log.warning("publishing again; %d observations wait", self._spool.pending)
        self.trouble = trouble

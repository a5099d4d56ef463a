"""NATS JetStream at one of several addresses; needs the extra `windlass[nats]`."""

import asyncio
import logging
from collections.abc import Sequence

import nats
from nats.aio.client import Client
from nats.errors import Error
from nats.js import JetStreamContext

from windlass.model.errors import Unavailable

log = logging.getLogger(__name__)

ANSWER_S = 5.0


class NatsConnection:
    """Connected to when it is first needed, and again when it was lost."""

    def __init__(self, urls: Sequence[str]) -> None:
        self._urls = list(urls)
        self._connection: Client | None = None
        self._stream: JetStreamContext | None = None
        self._connecting = asyncio.Lock()

    async def jetstream(self) -> JetStreamContext:
        """What is kept there; `Unavailable` if nobody answers."""
        async with self._connecting:
            if self._connection is None or not self._connection.is_connected:
                await self.close()
                try:
                    self._connection = await nats.connect(  # pyright: ignore[reportUnknownMemberType]
                        self._urls,
                        allow_reconnect=False,
                        # Without these it goes round all addresses for two minutes before it says
                        # that nobody answers.
                        max_reconnect_attempts=1,
                        reconnect_time_wait=0.2,
                        connect_timeout=ANSWER_S,
                        error_cb=_say,
                    )
                except (Error, OSError, TimeoutError) as error:
                    where = ", ".join(self._urls)
                    raise Unavailable(f"NATS at {where} is away: {error!r}") from error
                self._stream = self._connection.jetstream()  # pyright: ignore[reportUnknownMemberType]
            assert self._stream is not None, "it is connected"
            return self._stream

    async def close(self) -> None:
        if self._connection is not None:
            await self._connection.close()
            self._connection = None


async def _say(error: Exception) -> None:
    log.warning("NATS: %r", error)

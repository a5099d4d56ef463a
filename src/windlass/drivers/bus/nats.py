"""NATS JetStream as a bus: a stream that is kept for a day, and knows an id it has had."""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager

import nats
from nats.aio.client import Client
from nats.errors import Error, MaxPayloadError
from nats.js import JetStreamContext
from nats.js.api import DeliverPolicy, DiscardPolicy, StorageType, StreamConfig
from nats.js.errors import NotFoundError

from windlass.model.errors import Unavailable
from windlass.ports.bus import DEDUPE_S, KEPT_S, Message, Unpublishable

log = logging.getLogger(__name__)

_ANSWER_S = 5.0
_MSG_ID = "Nats-Msg-Id"
_IDLE_S = 5.0


class NatsBus:
    """The stream of `PREFIX.run.event.>`, connected to when it is first needed."""

    def __init__(self, urls: Sequence[str], prefix: str) -> None:
        self._urls = list(urls)
        self._prefix = prefix
        self._stream = f"{prefix.partition('.')[0].upper()}_RUN_EVENTS"
        self._connection: Client | None = None
        self._connecting = asyncio.Lock()

    async def publish(self, messages: Sequence[Message]) -> None:
        stream = await self._open()
        for message in messages:
            try:
                await stream.publish(
                    message.subject,
                    message.body,
                    timeout=_ANSWER_S,
                    stream=self._stream,
                    headers={_MSG_ID: message.id},
                )
            except MaxPayloadError as error:
                size = len(message.body)
                raise Unpublishable(f"{size:,} bytes are more than NATS takes at once") from error
            except (Error, OSError, TimeoutError) as error:
                raise Unavailable(f"NATS takes nothing: {error!r}") from error

    @asynccontextmanager
    async def subscribe(self, beginning: str) -> AsyncGenerator[AsyncIterator[Message]]:
        stream = await self._open()
        subscription = await stream.subscribe(
            f"{beginning}.>",
            stream=self._stream,
            ordered_consumer=True,
            deliver_policy=DeliverPolicy.NEW,
            idle_heartbeat=_IDLE_S,
        )

        async def messages() -> AsyncIterator[Message]:
            async for found in subscription.messages:
                yield Message((found.headers or {}).get(_MSG_ID, ""), found.subject, found.data)

        try:
            yield messages()
        finally:
            await subscription.unsubscribe()

    async def close(self) -> None:
        if self._connection is not None:
            await self._connection.close()

    async def _open(self) -> JetStreamContext:
        """The stream, made if it is not there yet."""
        async with self._connecting:
            if self._connection is not None and self._connection.is_connected:
                return _jetstream(self._connection)
            await self.close()
            try:
                self._connection = await nats.connect(  # pyright: ignore[reportUnknownMemberType]
                    self._urls,
                    allow_reconnect=False,
                    connect_timeout=_ANSWER_S,
                    error_cb=_say,
                )
                stream = _jetstream(self._connection)
                await self._make_stream(stream)
            except (Error, OSError, TimeoutError) as error:
                raise Unavailable(f"NATS at {', '.join(self._urls)} is away: {error!r}") from error
            return stream

    async def _make_stream(self, stream: JetStreamContext) -> None:
        try:
            await stream.stream_info(self._stream)
        except NotFoundError:
            await stream.add_stream(  # pyright: ignore[reportUnknownMemberType]
                StreamConfig(
                    name=self._stream,
                    subjects=[f"{self._prefix}.run.event.>"],
                    storage=StorageType.FILE,
                    discard=DiscardPolicy.OLD,
                    max_age=KEPT_S,
                    duplicate_window=DEDUPE_S,
                )
            )


def _jetstream(connection: Client) -> JetStreamContext:
    """Its own types are half unknown."""
    return connection.jetstream()  # pyright: ignore[reportUnknownMemberType]


async def _say(error: Exception) -> None:
    log.warning("NATS: %r", error)

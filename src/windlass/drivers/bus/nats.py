"""NATS JetStream as a bus: a stream that is kept for a day, and knows an id it has had."""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager

from nats.errors import Error, MaxPayloadError
from nats.js import JetStreamContext
from nats.js.api import DeliverPolicy, DiscardPolicy, StorageType, StreamConfig
from nats.js.errors import NotFoundError

from windlass.client.nats import ANSWER_S, NatsConnection
from windlass.model.errors import Unavailable
from windlass.ports.bus import DEDUPE_S, KEPT_S, Message, Unpublishable

_MSG_ID = "Nats-Msg-Id"
_IDLE_S = 5.0


class NatsBus:
    """The stream of `PREFIX.run.event.>`, connected to when it is first needed."""

    def __init__(self, urls: Sequence[str], prefix: str) -> None:
        self._nats = NatsConnection(urls)
        self._prefix = prefix
        self._stream = f"{prefix.partition('.')[0].upper()}_RUN_EVENTS"
        self._known: JetStreamContext | None = None
        """Where the stream was seen to be there."""

    async def publish(self, messages: Sequence[Message]) -> None:
        stream = await self._open()
        for message in messages:
            try:
                await stream.publish(
                    message.subject,
                    message.body,
                    timeout=ANSWER_S,
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
        await self._nats.close()

    async def _open(self) -> JetStreamContext:
        """The stream, made if it is not there yet."""
        stream = await self._nats.jetstream()
        if stream is not self._known:
            try:
                await self._make_stream(stream)
            except (Error, OSError, TimeoutError) as error:
                raise Unavailable(f"NATS makes no stream: {error!r}") from error
            self._known = stream
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

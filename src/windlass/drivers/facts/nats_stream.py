"""Facts out of a NATS JetStream stream, by a durable consumer: each server takes its share.

What a server took and did not finish is handed out again when it has been silent for `idle_s`, to
whoever asks next. The stream is `PREFIX.attempt.fact.>`, where workers say what became of their
attempts, and is made if it is not there yet.
"""

from collections.abc import Sequence
from contextlib import suppress

from nats.aio.msg import Msg
from nats.errors import Error
from nats.js import JetStreamContext
from nats.js.api import (
    AckPolicy,
    ConsumerConfig,
    DeliverPolicy,
    DiscardPolicy,
    StorageType,
    StreamConfig,
)
from nats.js.errors import NotFoundError

from windlass.client.nats import NatsConnection
from windlass.model.errors import Unavailable
from windlass.ports.facts import Delivery

CONSUMER = "windlass"
KEPT_S = 3_600.0
DEDUPE_S = 120.0
_AT_ONCE = 200
_WAIT_S = 2.0
_AGAIN_S = 1.0
_AWAY = (Error, OSError, TimeoutError)


class NatsFacts:
    """The stream as one taker of the consumer sees it."""

    def __init__(self, urls: Sequence[str], prefix: str, *, idle_s: float = 30.0) -> None:
        self._nats = NatsConnection(urls)
        self._subject = f"{prefix}.attempt.fact.>"
        self._stream = f"{prefix.partition('.')[0].upper()}_ATTEMPT_FACTS"
        self._idle_s = idle_s
        self._known: JetStreamContext | None = None
        self._pull: JetStreamContext.PullSubscription | None = None
        self._taken: dict[str, Msg] = {}

    async def take(self) -> list[Delivery]:
        try:
            pull = await self._open()
        except _AWAY as error:
            raise self._away(error) from error
        try:
            found = await pull.fetch(_AT_ONCE, timeout=_WAIT_S)
        except TimeoutError:
            return []  # NATS' own, or the loop's where both end in the same moment
        except _AWAY as error:
            raise self._away(error) from error
        self._taken = {_id(message): message for message in found}
        return [Delivery(id_, message.data) for id_, message in self._taken.items()]

    async def done(self, ids: Sequence[str]) -> None:
        try:
            for id_ in ids:
                message = self._taken.pop(id_, None)
                if message is not None:
                    # Answered, so that what was done is done when this returns.
                    await message.ack_sync()
        except _AWAY as error:
            raise self._away(error) from error

    async def close(self) -> None:
        """What was taken and is not finished is another's at once."""
        with suppress(*_AWAY):
            for message in self._taken.values():
                await message.nak()
        self._taken = {}
        self._known = self._pull = None
        await self._nats.close()

    async def make(self) -> None:
        """See that the stream is there, for whoever puts something in."""
        await self._make_stream(await self._nats.jetstream())

    async def _open(self) -> JetStreamContext.PullSubscription:
        stream = await self._nats.jetstream()
        if stream is not self._known or self._pull is None:
            await self._make_stream(stream)
            self._pull = await stream.pull_subscribe(
                self._subject,
                durable=CONSUMER,
                stream=self._stream,
                config=ConsumerConfig(
                    durable_name=CONSUMER,
                    ack_policy=AckPolicy.EXPLICIT,
                    # What was said before anybody listened counts too.
                    deliver_policy=DeliverPolicy.ALL,
                    ack_wait=self._idle_s,
                    max_ack_pending=10_000,
                ),
            )
            self._known = stream
        return self._pull

    async def _make_stream(self, stream: JetStreamContext) -> None:
        try:
            await stream.stream_info(self._stream)
        except NotFoundError:
            await stream.add_stream(  # pyright: ignore[reportUnknownMemberType]
                StreamConfig(
                    name=self._stream,
                    subjects=[self._subject],
                    storage=StorageType.FILE,
                    discard=DiscardPolicy.OLD,
                    max_age=KEPT_S,
                    duplicate_window=DEDUPE_S,
                )
            )

    def _away(self, error: Exception) -> Unavailable:
        self._known = self._pull = None
        return Unavailable(f"NATS gives no facts: {error!r}", retry_after_s=_AGAIN_S)


def _id(message: Msg) -> str:
    """The same however often it is handed out: its place in the stream."""
    return str(message.metadata.sequence.stream)

"""A Redis stream as a bus; an id it has had is remembered beside it."""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager

from redis.exceptions import RedisError

from windlass.client.redis import RedisClients
from windlass.model.errors import Unavailable
from windlass.ports.bus import DEDUPE_S, Message, begins_with

STREAM_MAX = 1_000_000
"""About so many messages are kept: Redis bounds a stream by number, not by age, at no cost."""
_BLOCK_MS = 2_000
_AT_ONCE = 200
_ADD = """
if redis.call('set', KEYS[2], 1, 'NX', 'EX', ARGV[1]) then
  redis.call('xadd', KEYS[1], 'MAXLEN', '~', ARGV[2], '*', 'id', ARGV[3], 'subject', ARGV[4],
    'body', ARGV[5])
end
"""
"""Kept and remembered in one step: no crash comes in between."""


class RedisBus:
    """The stream `PREFIX.run.events`."""

    def __init__(self, urls: Sequence[str], prefix: str) -> None:
        self._redis = RedisClients(urls, waiting_s=_BLOCK_MS / 1000)
        self._stream = f"{prefix}.run.events"

    async def publish(self, messages: Sequence[Message]) -> None:
        try:
            async with self._redis.now.pipeline(transaction=False) as pipe:
                for message in messages:
                    # In braces: a cluster keeps both keys in one place.
                    seen = f"{{{self._stream}}}:seen:{message.id}"
                    pipe.eval(
                        _ADD,
                        2,
                        self._stream,
                        seen,
                        DEDUPE_S,
                        STREAM_MAX,
                        message.id,
                        message.subject,
                        message.body,
                    )
                await pipe.execute()
        except (RedisError, OSError) as error:
            self._redis.next()
            raise Unavailable(f"Redis takes nothing: {error}") from error

    @asynccontextmanager
    async def subscribe(self, beginning: str) -> AsyncGenerator[AsyncIterator[Message]]:
        client = self._redis.now
        last = await client.xrevrange(self._stream, count=1)
        after = last[0][0] if last else b"0"

        async def messages() -> AsyncIterator[Message]:
            nonlocal after
            while True:
                found = await client.xread({self._stream: after}, count=_AT_ONCE, block=_BLOCK_MS)
                for id_, fields in (entry for _, some in found for entry in some):
                    after = id_
                    subject = fields[b"subject"].decode()
                    if begins_with(subject, beginning):
                        yield Message(fields[b"id"].decode(), subject, fields[b"body"])

        yield messages()

    async def close(self) -> None:
        await self._redis.close()

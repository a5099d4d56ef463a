"""Redis as a sink: a channel for whoever listens, and a stream for whoever must not miss any."""

from collections.abc import Sequence

from redis.exceptions import RedisError

from windlass.client.redis import RedisClients
from windlass.collector.spool import SpooledEvent
from windlass.model.errors import Unavailable
from windlass.protocol.pod_facts import CHANNEL, STREAM, STREAM_FIELD

STREAM_MAX = 1_000_000
"""About so many events are kept in the stream: a bound for when nobody reads it any more."""


class RedisSink:
    """One Redis out of several addresses: the first that takes what is written."""

    def __init__(self, urls: Sequence[str]) -> None:
        self._redis = RedisClients(urls)

    def __str__(self) -> str:
        return str(self._redis)

    async def publish(self, events: Sequence[SpooledEvent]) -> Sequence[SpooledEvent]:
        try:
            async with self._redis.now.pipeline(transaction=False) as pipe:
                for event in events:
                    pipe.xadd(STREAM, {STREAM_FIELD: event.body}, maxlen=STREAM_MAX)
                    pipe.publish(CHANNEL, event.body)
                await pipe.execute()
        except (RedisError, OSError) as error:
            self._redis.next()
            raise Unavailable(f"Redis takes nothing: {error}") from error
        return ()

    async def close(self) -> None:
        await self._redis.close()

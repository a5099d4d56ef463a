"""Facts out of a Redis stream, read by a group: each server takes its share.

What a server took and did not finish is pending under its name. Its own it takes up again when it
starts or was cut off; another's when that has been silent for `idle_s`.
"""

import logging
from collections.abc import Sequence

from redis.exceptions import RedisError, ResponseError

from windlass.client.redis import RedisClients
from windlass.model.errors import Unavailable
from windlass.ports.facts import Delivery
from windlass.protocol.pod_facts import STREAM, STREAM_FIELD

log = logging.getLogger(__name__)

GROUP = "windlass"
_AT_ONCE = 200
_BLOCK_MS = 2_000
_AGAIN_S = 1.0
_NO_GROUP = ("NOGROUP", "no such key")
_GONE_MS = 24 * 3600 * 1000


class RedisFacts:
    """The stream as one consumer of the group sees it."""

    def __init__(self, urls: Sequence[str], consumer: str, *, idle_s: float = 30.0) -> None:
        self._redis = RedisClients(urls, waiting_s=_BLOCK_MS / 1000)
        self._consumer = consumer
        self._idle_ms = int(idle_s * 1000)
        self._mine: str | None = "0"
        """Where to read on among what is pending under our name; None when that is finished."""
        self._tidied = False
        self._others = "0-0"

    async def take(self) -> list[Delivery]:
        try:
            await self._tidy()
            if self._mine is not None:
                pending = await self._read(self._mine, None)
                self._mine = pending[-1].id if pending else None
                if pending:
                    return pending
            return await self._left_by_others() or await self._read(">", _BLOCK_MS)
        except ResponseError as error:
            if not any(none in str(error) for none in _NO_GROUP):
                raise self._away(error) from error
            await self._make_group()
            return []
        except (RedisError, OSError) as error:
            raise self._away(error) from error

    async def done(self, ids: Sequence[str]) -> None:
        try:
            await self._redis.now.xack(STREAM, GROUP, *ids)
        except (RedisError, OSError) as error:
            raise self._away(error) from error

    async def close(self) -> None:
        await self._redis.close()

    async def _read(self, after: str, block_ms: int | None) -> list[Delivery]:
        found = await self._redis.now.xreadgroup(
            GROUP, self._consumer, {STREAM: after}, count=_AT_ONCE, block=block_ms
        )
        return [delivery for _, entries in found or () for delivery in _deliveries(entries)]

    async def _left_by_others(self) -> list[Delivery]:
        """What somebody took long ago and did not finish."""
        after, entries, *_ = await self._redis.now.xautoclaim(
            STREAM, GROUP, self._consumer, self._idle_ms, start_id=self._others, count=_AT_ONCE
        )
        self._others = after.decode()
        return _deliveries(entries)

    async def _tidy(self) -> None:
        """Once: forget consumers that are long gone and left nothing."""
        if not self._tidied:
            for consumer in await self._redis.now.xinfo_consumers(STREAM, GROUP):
                if not consumer["pending"] and consumer["idle"] > _GONE_MS:
                    await self._redis.now.xgroup_delconsumer(STREAM, GROUP, consumer["name"])
            self._tidied = True

    async def _make_group(self) -> None:
        """From the stream's beginning: what was said before anybody listened counts too."""
        try:
            await self._redis.now.xgroup_create(STREAM, GROUP, "0", mkstream=True)
            log.info("reads the stream %s as group %s", STREAM, GROUP)
        except ResponseError as error:
            if "BUSYGROUP" not in str(error):
                raise self._away(error) from error

    def _away(self, error: Exception) -> Unavailable:
        self._redis.next()
        self._mine, self._others = "0", "0-0"
        return Unavailable(f"Redis gives no facts: {error}", retry_after_s=_AGAIN_S)


def _deliveries(entries: Sequence[tuple[bytes, dict[bytes, bytes] | None]]) -> list[Delivery]:
    # What was trimmed away while it was pending has no fields any more; it is done with as empty.
    field = STREAM_FIELD.encode()
    return [
        Delivery(id_.decode(), fields.get(field, b"") if fields else b"") for id_, fields in entries
    ]

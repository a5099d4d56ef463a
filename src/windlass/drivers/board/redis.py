"""Redis as a copy of the blackboard: a hash for each key, and one of all keys to look for them."""

from collections.abc import Mapping, Sequence

from redis.exceptions import RedisError

from windlass.client.redis import RedisClients
from windlass.model.errors import Unavailable
from windlass.ports.board import BoardCopy

_PUT = """
local known = tonumber(redis.call('hget', KEYS[1], 'revision') or 0)
if known >= tonumber(ARGV[1]) then return 0 end
redis.call('hset', KEYS[1], 'revision', ARGV[1], 'deleted', ARGV[2], 'body', ARGV[3])
if ARGV[2] == '1' then redis.call('zrem', KEYS[2], ARGV[4])
else redis.call('zadd', KEYS[2], 0, ARGV[4]) end
return 1
"""
"""Looked at and written in one step: two who put at once do not undo each other."""
_AT_ONCE = 500


class RedisBoard:
    """Hashes `{PREFIX.blackboard}:KEY`, and the sorted set `{PREFIX.blackboard}` of keys."""

    def __init__(self, urls: Sequence[str], prefix: str) -> None:
        self._redis = RedisClients(urls)
        # In braces: a cluster keeps all of it in one place.
        self._keys = f"{{{prefix}.blackboard}}"

    async def put(self, entries: Sequence[BoardCopy]) -> None:
        try:
            async with self._redis.now.pipeline(transaction=False) as pipe:
                for entry in entries:
                    deleted = int(entry.deleted)
                    at = (self._at(entry.key), self._keys)
                    pipe.eval(_PUT, 2, *at, entry.revision, deleted, entry.body, entry.key)
                await pipe.execute()
        except (RedisError, OSError) as error:
            raise self._away(error) from error

    async def get(self, key: str) -> BoardCopy | None:
        try:
            found = await self._redis.now.hgetall(self._at(key))
        except (RedisError, OSError) as error:
            raise self._away(error) from error
        if not found or found[b"deleted"] == b"1":
            return None
        return BoardCopy(key, int(found[b"revision"]), found[b"body"])

    async def list(self, prefix: str) -> Mapping[str, int]:
        first, last = f"[{prefix}", f"({prefix}\U0010ffff"
        found: dict[str, int] = {}
        try:
            keys = [
                key.decode() for key in await self._redis.now.zrangebylex(self._keys, first, last)
            ]
            for at in range(0, len(keys), _AT_ONCE):
                some = keys[at : at + _AT_ONCE]
                async with self._redis.now.pipeline(transaction=False) as pipe:
                    for key in some:
                        pipe.hget(self._at(key), "revision")
                    found |= dict(zip(some, map(int, await pipe.execute()), strict=True))
        except (RedisError, OSError) as error:
            raise self._away(error) from error
        return found

    async def close(self) -> None:
        await self._redis.close()

    def _at(self, key: str) -> str:
        return f"{self._keys}:{key}"

    def _away(self, error: Exception) -> Unavailable:
        self._redis.next()
        return Unavailable(f"Redis keeps nothing: {error}")

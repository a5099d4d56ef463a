"""Redis at one of several addresses; needs the extra `windlass[redis]`."""

from collections.abc import Sequence
from typing import Any

import redis.asyncio as redis

from windlass.model.errors import BadRequest

_ANSWER_S = 5.0


def redis_urls(given: str) -> list[str]:
    """Addresses between commas, as URLs: `redis://h:6379/0`, or only `h:6379`."""
    items = [item.strip() for item in given.split(",") if item.strip()]
    return [item if "://" in item else f"redis://{item}/0" for item in items]


class RedisClients:
    """The first address that does what it is asked; the next one when it does not."""

    def __init__(self, urls: Sequence[str], *, waiting_s: float = 0.0) -> None:
        """`waiting_s` is how long a command may wait for something to happen."""
        try:
            self._clients = [_client(url, _ANSWER_S + waiting_s) for url in urls]
        except ValueError as error:
            hint = "write it as redis://HOST:PORT/0"
            raise BadRequest(f"--redis {', '.join(urls)}: {error}; {hint}") from error
        self._at = 0

    def __str__(self) -> str:
        count = len(self._clients)
        return f"Redis ({count} address{'es' if count > 1 else ''})"

    @property
    def now(self) -> Any:
        """The one in use."""
        return self._clients[self._at]

    def next(self) -> None:
        """The one in use may be gone or only a replica now; the next may be what it was."""
        self._at = (self._at + 1) % len(self._clients)

    async def close(self) -> None:
        for client in self._clients:
            await client.aclose()


def _client(url: str, answer_s: float) -> Any:
    """A client, whose own types are half unknown."""
    return redis.Redis.from_url(  # pyright: ignore[reportUnknownMemberType]
        url, socket_timeout=answer_s, socket_connect_timeout=_ANSWER_S
    )

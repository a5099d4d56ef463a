"""Where events of runs are published, and where the blackboard is copied to."""

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

from windlass.model.errors import BadRequest
from windlass.ports.board import Board
from windlass.ports.bus import Bus

T = TypeVar("T")
_PREFIX = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*")


def open_bus(address: str, prefix: str) -> Bus:
    """The bus at an address, or several between commas; it is connected to when it is needed."""

    def on_nats(urls: Sequence[str]) -> Bus:
        from windlass.drivers.bus.nats import NatsBus

        return NatsBus(urls, prefix)

    def on_redis(urls: Sequence[str]) -> Bus:
        from windlass.drivers.bus.redis import RedisBus

        return RedisBus(urls, prefix)

    return _opened("--bus", address, prefix, on_nats, on_redis)


def open_board(address: str, prefix: str) -> Board:
    """The same for copies of the blackboard."""

    def on_nats(urls: Sequence[str]) -> Board:
        from windlass.drivers.board.nats import NatsBoard

        return NatsBoard(urls, prefix)

    def on_redis(urls: Sequence[str]) -> Board:
        from windlass.drivers.board.redis import RedisBoard

        return RedisBoard(urls, prefix)

    return _opened("--board", address, prefix, on_nats, on_redis)


def _opened(
    setting: str,
    address: str,
    prefix: str,
    on_nats: Callable[[Sequence[str]], T],
    on_redis: Callable[[Sequence[str]], T],
) -> T:
    if not _PREFIX.fullmatch(prefix):
        raise BadRequest(f'--bus-prefix "{prefix:.60}" is not made of words between dots')
    urls = [url.strip() for url in address.split(",") if url.strip()]
    kind = address.partition("://")[0]
    known = {"nats": on_nats, "tls": on_nats, "redis": on_redis, "rediss": on_redis}
    if kind not in known:
        hint = "write nats://HOST:4222 or redis://HOST:6379/0"
        raise BadRequest(f'{setting} "{address:.60}" is of no kind there is; {hint}')
    try:
        return known[kind](urls)
    except ImportError as error:
        extra = "redis" if kind.startswith("redis") else "nats"
        raise BadRequest(f"{setting} needs a client: pip install 'windlass[{extra}]'") from error

"""Where events of runs are published."""

import re

from windlass.model.errors import BadRequest
from windlass.ports.bus import Bus

_PREFIX = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*")


def open_bus(address: str, prefix: str) -> Bus:
    """The bus at an address, or several between commas; it is connected to when it is needed."""
    if not _PREFIX.fullmatch(prefix):
        raise BadRequest(f'--bus-prefix "{prefix:.60}" is not made of words between dots')
    urls = [url.strip() for url in address.split(",") if url.strip()]
    kind = address.partition("://")[0]
    try:
        if kind in ("nats", "tls"):
            from windlass.drivers.bus.nats import NatsBus

            return NatsBus(urls, prefix)
        if kind in ("redis", "rediss"):
            from windlass.drivers.bus.redis import RedisBus

            return RedisBus(urls, prefix)
    except ImportError as error:
        extra = "redis" if kind.startswith("redis") else "nats"
        raise BadRequest(f"--bus needs a client: pip install 'windlass[{extra}]'") from error
    raise BadRequest(
        f'--bus "{address:.60}" is no bus; write nats://HOST:4222 or redis://HOST:6379/0'
    )

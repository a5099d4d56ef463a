"""Where facts from outside are taken from."""

from windlass.model.errors import BadRequest
from windlass.ports.facts import FactSource

MISSING = "--redis needs a client for it: pip install 'windlass[redis]'"


def redis_facts(addresses: str, consumer: str) -> FactSource:
    """The stream of collectors, as this process takes its share of it."""
    try:
        from windlass.client.redis import redis_urls
        from windlass.drivers.facts.redis_stream import RedisFacts
    except ImportError as error:
        raise BadRequest(MISSING) from error
    return RedisFacts(redis_urls(addresses), consumer)


def nats_facts(addresses: str, prefix: str) -> FactSource:
    """What workers state of their attempts, as this process takes its share of it."""
    urls = [url.strip() for url in addresses.split(",") if url.strip()]
    if not all(url.startswith(("nats://", "tls://")) for url in urls):
        raise BadRequest(f'--facts "{addresses:.60}" is no NATS; write nats://HOST:4222')
    try:
        from windlass.drivers.facts.nats_stream import NatsFacts
    except ImportError as error:
        raise BadRequest("--facts needs a client: pip install 'windlass[nats]'") from error
    return NatsFacts(urls, prefix)

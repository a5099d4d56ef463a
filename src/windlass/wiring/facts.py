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

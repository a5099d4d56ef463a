"""One API server and one stream for each test; Redis is the session's."""

from collections.abc import Iterator

import pytest

from tests.integration.collector.harness import Stream
from windlass.testing.kube import KubeServer
from windlass.testing.servers import RedisServer


@pytest.fixture
def kube() -> Iterator[KubeServer]:
    with KubeServer() as server:
        yield server


@pytest.fixture
def stream(redis_server: RedisServer) -> Iterator[Stream]:
    found = Stream(redis_server.url)
    found.clear()
    yield found
    found.close()

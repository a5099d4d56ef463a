"""Fixtures shared by every kind of test."""

import os
from collections.abc import Iterator
from typing import Any

import pytest

from windlass.testing import servers


@pytest.fixture(scope="session")
def anyio_backend() -> tuple[str, dict[str, Any]]:
    """Asyncio, as in production; WINDLASS_TEST_UVLOOP=1 runs the tests on uvloop as well."""
    return "asyncio", {"use_uvloop": os.environ.get("WINDLASS_TEST_UVLOOP") == "1"}


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[servers.PostgresServer]:
    """One PostgreSQL for the whole session; a test that stops it starts a server of its own."""
    with servers.postgres() as server:
        yield server


@pytest.fixture
def postgres_url(postgres_server: servers.PostgresServer) -> Iterator[str]:
    """A fresh, empty database."""
    url = postgres_server.new_database()
    yield url
    postgres_server.drop_database(url)


@pytest.fixture(scope="session")
def nats_server() -> Iterator[servers.NatsServer]:
    """One NATS server for the whole session."""
    with servers.nats() as server:
        yield server


@pytest.fixture(scope="session")
def redis_server() -> Iterator[servers.RedisServer]:
    """One Redis server for the whole session."""
    with servers.redis() as server:
        yield server

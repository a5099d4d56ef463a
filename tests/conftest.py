"""Fixtures shared by every kind of test."""

import os
import shutil
from collections.abc import Iterator
from typing import Any

import hypothesis
import pytest

from windlass.testing import podman, servers

# How long an example takes says nothing where tests run side by side.
hypothesis.settings.register_profile("windlass", deadline=None)
hypothesis.settings.load_profile("windlass")


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


@pytest.fixture(scope="session")
def chromium() -> str:
    """The program."""
    found = shutil.which("chromium")
    if found is None:
        pytest.skip("chromium missing; run `make setup-tests` as root")
    return found


@pytest.fixture(scope="session")
def podman_server() -> Iterator[podman.PodmanServer]:
    """One container runtime for the whole session, with one small image."""
    if lacking := podman.missing():
        pytest.skip(lacking)
    with podman.podman() as server:
        yield server

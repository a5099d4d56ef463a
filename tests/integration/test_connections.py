"""Callers who say nothing use nothing up: heads that never end, and more of them than fit."""

import contextlib
import socket
import time
from collections.abc import Iterator

import httpx
import pytest

from windlass.testing.processes import ServerProcess

HEAD = b"GET /healthz HTTP/1.1\r\nHost: x\r\n"
LIMITS = ("--connections-max", "64", "--head-s", "2")
PATIENT = ("--connections-max", "64", "--head-s", "60")
"""Whoever is cut off here is so for something else than the time."""


def half_sent(server: ServerProcess) -> socket.socket:
    """A connection that has sent half a request."""
    url = httpx.URL(server.url)
    connection = socket.create_connection((url.host, url.port or 80), timeout=5)
    connection.sendall(HEAD)
    return connection


def is_closed(connection: socket.socket) -> bool:
    connection.settimeout(5)
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    folder = tmp_path_factory.mktemp("connections")
    with ServerProcess(f"sqlite:///{folder}/w.db", "--no-auth", *LIMITS) as server:
        yield server


@pytest.fixture(scope="module")
def patient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    folder = tmp_path_factory.mktemp("patient")
    with ServerProcess(f"sqlite:///{folder}/w.db", "--no-auth", *PATIENT) as server:
        yield server


def test_a_thousand_half_sent_requests_leave_room_for_a_whole_one(patient: ServerProcess) -> None:
    with contextlib.ExitStack() as stack, httpx.Client(base_url=patient.url) as client:
        first = stack.enter_context(half_sent(patient))
        for _ in range(1_100):
            with contextlib.suppress(ConnectionError):
                stack.enter_context(half_sent(patient))
        began = time.monotonic()
        assert client.get("/healthz", timeout=5).status_code == 200
        assert time.monotonic() - began < 1
        assert is_closed(first), "the oldest made room"


def test_a_head_that_takes_too_long_ends_its_connection(server: ServerProcess) -> None:
    with half_sent(server) as connection:
        began = time.monotonic()
        assert is_closed(connection)
        assert 1 < time.monotonic() - began < 4


def test_a_head_without_end_is_refused(patient: ServerProcess) -> None:
    with half_sent(patient) as connection:
        with contextlib.suppress(ConnectionError):
            for number in range(4_000):
                connection.sendall(b"X-%d: %s\r\n" % (number, b"y" * 200))
        connection.settimeout(5)
        with contextlib.suppress(ConnectionError):
            assert connection.recv(12) in (b"HTTP/1.1 400", b"")


def test_a_connection_that_is_kept_open_is_measured_by_each_head(server: ServerProcess) -> None:
    with httpx.Client(base_url=server.url) as client:
        for _ in range(3):
            assert client.get("/readyz").status_code == 200
            time.sleep(1)

"""The servers our tests lean on start, answer, restart and recover."""

import os
import socket
from pathlib import Path

import asyncpg
import pytest

from windlass.testing import servers


def exchange(port: int, request: bytes, until: bytes) -> bytes:
    """Send a request and read until the answer holds `until`."""
    answer = b""
    with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
        connection.sendall(request)
        while until not in answer:
            chunk = connection.recv(4096)
            assert chunk, f"closed after {answer!r}"
            answer += chunk
    return answer


async def scalar(url: str, query: str) -> object:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(query)
    finally:
        await connection.close()


async def execute(url: str, statement: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


@pytest.mark.postgres
@pytest.mark.anyio
async def test_postgres_answers_a_query(postgres_url: str) -> None:
    assert await scalar(postgres_url, "select 1") == 1


@pytest.mark.postgres
@pytest.mark.anyio
async def test_each_new_database_is_empty(postgres_server: servers.PostgresServer) -> None:
    first, second = postgres_server.new_database(), postgres_server.new_database()
    await execute(first, "create table mark (id int)")
    assert await scalar(second, "select to_regclass('mark')") is None
    for url in (first, second):
        postgres_server.drop_database(url)
    with pytest.raises(asyncpg.InvalidCatalogNameError):
        await scalar(first, "select 1")


@pytest.mark.postgres
@pytest.mark.anyio
async def test_a_durable_postgres_keeps_its_commits_over_a_restart_and_a_power_cut() -> None:
    with servers.postgres(durable=True) as server:
        url = server.new_database()
        await execute(url, "create table mark as select 1 as id")
        bystander = await asyncpg.connect(url)
        server.restart()
        with pytest.raises((asyncpg.PostgresError, asyncpg.InterfaceError, OSError)):
            await bystander.fetchval("select 1")
        await execute(url, "insert into mark values (2)")
        server.kill()
        server.start()
        assert await scalar(url, "select count(*) from mark") == 2


@pytest.mark.nats
def test_nats_answers_a_ping(nats_server: servers.NatsServer) -> None:
    answer = exchange(nats_server.port, b'CONNECT {"verbose":false}\r\nPING\r\n', b"PONG\r\n")
    assert b'"jetstream":true' in answer


@pytest.mark.redis
def test_redis_answers_a_ping(redis_server: servers.RedisServer) -> None:
    assert exchange(redis_server.port, b"PING\r\n", b"\r\n") == b"+PONG\r\n"


@pytest.mark.redis
def test_redis_keeps_an_acknowledged_write_over_a_power_cut() -> None:
    with servers.redis() as server:
        assert exchange(server.port, b"SET mark 1\r\n", b"\r\n") == b"+OK\r\n"
        server.kill()
        server.start()
        assert exchange(server.port, b"GET mark\r\n", b"1\r\n") == b"$1\r\n1\r\n"


def test_a_server_that_cannot_start_says_why(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "nats-server"
    program.write_text("#!/bin/sh\necho no room; exit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("WINDLASS_NATS_SERVER", str(program))
    with pytest.raises(servers.ServerError, match="no room"), servers.nats():
        pass


def test_nothing_is_left_behind() -> None:
    with servers.redis() as server:
        pid, log = server.pid, server.log_path
    assert not log.exists()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)

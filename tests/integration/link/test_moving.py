"""A worker that goes over to another server while the first has not noticed: what the first still
believes undoes nothing, and what it is to be told reaches it where it is."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.link.conftest import TOKEN, LinkServer, connected, until
from tests.integration.link.independent import SecondGeneration
from tests.integration.link.workflows import chain
from windlass.testing.processes import ServerProcess, started

pytestmark = pytest.mark.anyio

Json = dict[str, Any]
NOTED_S = 6.0
"""Longer than a server waits before it writes down again who is connected to it."""


class Movable(SecondGeneration):
    """A worker whose line goes dead without a word, and which remembers what it was told."""

    dead = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.told: list[str] = []

    async def receive(self, frame: Json) -> None:
        if not self.dead:
            self.told.append(frame["type"])
            await super().receive(frame)

    async def send(self, frame: Json) -> None:
        if not self.dead:
            await super().send(frame)


@pytest.fixture
async def servers(
    fresh_database: str, tmp_path: Path
) -> AsyncIterator[tuple[LinkServer, LinkServer]]:
    log = tmp_path / "server.log"
    first, second = (
        ServerProcess(fresh_database, "--admin-token", TOKEN, log=log) for _ in range(2)
    )
    with started(first, second):
        pair = LinkServer(first, log), LinkServer(second, log)
        yield pair
        for server in pair:
            await server.http.aclose()
    assert "Traceback" not in log.read_text()


def worker_of(server: LinkServer) -> Movable:
    worker = Movable(server.url, "moves", [("demo", "1.0.0")], token=TOKEN)
    worker.sender = "the-same-process"
    return worker


async def shown(server: LinkServer) -> Json:
    found: Json = (await server.http.get("/api/v1/workers/moves")).json()
    return found


async def told(server: LinkServer, command: str) -> int:
    answer = await server.http.post("/api/v1/workers/moves/commands", json={"type": command})
    return answer.status_code


async def test_a_server_that_a_worker_left_unnoticed_undoes_nothing(
    servers: tuple[LinkServer, LinkServer],
) -> None:
    first, second = servers
    before, moved = worker_of(first), worker_of(second)
    async with connected(before):
        before.dead = True
        async with connected(moved):
            assert await told(second, "drain") == 202
            await until(lambda: "control.drain" in moved.told)
            ends = time.monotonic() + NOTED_S
            while time.monotonic() < ends:
                assert (await shown(second))["state"] == "draining"
                await asyncio.sleep(0.05)
            before.cut()
            ends = time.monotonic() + NOTED_S
            while time.monotonic() < ends:
                found = await shown(first)
                assert (found["state"], found["connected"]) == ("draining", True)
                await asyncio.sleep(0.05)


async def test_a_command_reaches_a_worker_where_it_is_now(
    servers: tuple[LinkServer, LinkServer],
) -> None:
    first, second = servers
    before, moved = worker_of(first), worker_of(second)
    async with connected(before):
        before.dead = True
        async with connected(moved):
            assert await told(first, "drain") == 202
            await until(lambda: "control.drain" in moved.told, 3)
            await before.close()
            assert await told(first, "undrain") == 202


async def test_no_work_is_sent_where_a_worker_is_no_more(
    servers: tuple[LinkServer, LinkServer],
) -> None:
    first, second = servers
    before, moved = worker_of(first), worker_of(second)
    async with connected(before):
        before.dead = True
        async with connected(moved):
            for server in (first, second) * 4:
                began = time.monotonic()
                run = await server.wait(await server.start(chain("moved", "demo.a", "demo.b")))
                assert run["status"] == "succeeded"
                assert time.monotonic() - began < 1
            assert len(moved.executed) == 16

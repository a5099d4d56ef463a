"""What a run left at a worker is let go of, whichever server ends the run and wherever the worker
is at that moment."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.integration.link.conftest import TOKEN, LinkServer, connected, until
from tests.integration.link.independent import SecondGeneration
from tests.integration.link.workflows import chain
from windlass.testing.processes import ServerProcess, started

pytestmark = pytest.mark.anyio
Json = dict[str, Any]


class Holding(SecondGeneration):
    """A worker that keeps things for runs, and does its work when told to."""

    def __init__(self, server: LinkServer) -> None:
        super().__init__(
            server.url, "keeper", [("demo", "1.0.0")], token=TOKEN, handler=self.when_told
        )
        self.begun = asyncio.Event()
        self.go = asyncio.Event()
        self.released: list[str] = []

    def capabilities(self) -> Json:
        return {**super().capabilities(), "features": ["resource.release"]}

    async def when_told(self, dispatch: Json) -> Json:
        self.begun.set()
        await self.go.wait()
        return {"done": True}

    async def numbered(self, frame: Json, seq: int) -> None:
        if frame["type"] == "biz.resource.release" and seq > self.received:
            self.released.append(frame["payload"]["scope"])
        await super().numbered(frame, seq)


async def test_a_run_that_ends_here_is_released_at_a_worker_there(
    server: LinkServer, fresh_database: str, tmp_path: Path
) -> None:
    other = ServerProcess(fresh_database, "--admin-token", TOKEN)
    with started(other):
        there = LinkServer(other, tmp_path / "server.log")
        worker = Holding(there)
        async with connected(worker):
            run_id = await server.start(chain("two", "demo.a"))
            await asyncio.wait_for(worker.begun.wait(), 10)
            answer = await server.http.post(f"/api/v1/runs/{run_id}/cancel", json={})
            assert answer.is_success, answer.text
            worker.go.set()
            await until(lambda: worker.released == [run_id])
        await there.http.aclose()


async def test_a_worker_that_was_away_is_told_when_it_is_back(server: LinkServer) -> None:
    worker = Holding(server)
    async with connected(worker):
        run_id = await server.start(chain("away", "demo.a", "demo.b"))
        await asyncio.wait_for(worker.begun.wait(), 10)
    answer = await server.http.post(f"/api/v1/runs/{run_id}/cancel", json={})
    assert answer.is_success, answer.text
    assert (await server.wait(run_id))["status"] == "cancelled"
    server.process.kill()
    await asyncio.to_thread(server.process.start)
    back = Holding(server)
    async with connected(back):
        await until(lambda: back.released == [run_id])

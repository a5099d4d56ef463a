"""A server for workers on the link, and a client that starts workflows on it."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.integration.link.independent import Independent
from windlass.testing.processes import ServerProcess, started

TOKEN = "link-test-token"
LEASE_S = 2.0

Json = dict[str, Any]


class LinkServer:
    """A server process and what tests ask of it."""

    def __init__(self, process: ServerProcess, log: Path) -> None:
        self.process = process
        self.log = log
        self.url = process.url
        self.http = httpx.AsyncClient(
            base_url=process.url, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=70
        )

    async def start(self, workflow: Json, client_id: str = "tests", **headers: str) -> str:
        body = {"workflow": workflow, "clientId": client_id}
        answer = await self.http.post("/api/v1/runs", json=body, headers=headers)
        assert answer.status_code == 202, answer.text
        return str(answer.json()["runId"])

    async def start_many(self, workflow: Json, count: int) -> list[str]:
        gate = asyncio.Semaphore(8)

        async def one() -> str:
            async with gate:
                return await self.start(workflow)

        return await asyncio.gather(*(one() for _ in range(count)))

    async def wait(self, run_id: str, timeout_s: float = 30) -> Json:
        answer = await self.http.get(
            f"/api/v1/runs/{run_id}", params={"waitMs": int(timeout_s * 1000)}
        )
        answer.raise_for_status()
        found: Json = answer.json()
        return found

    async def metrics(self) -> str:
        return (await self.http.get("/metrics")).text


@pytest.fixture
def lease_s() -> float:
    """How long leases are; a test that needs longer ones says so by a parameter of this name."""
    return LEASE_S


@pytest.fixture
def server_args(lease_s: float) -> tuple[str, ...]:
    """Options of the server; a module may have others."""
    return ("--lease-s", str(lease_s))


@pytest.fixture
def link_process(
    fresh_database: str, tmp_path: Path, server_args: tuple[str, ...]
) -> Iterator[ServerProcess]:
    args = ("--admin-token", TOKEN, *server_args)
    process = ServerProcess(fresh_database, *args, log=tmp_path / "server.log")
    with started(process):
        yield process


@pytest.fixture
async def server(link_process: ServerProcess, tmp_path: Path) -> AsyncIterator[LinkServer]:
    served = LinkServer(link_process, tmp_path / "server.log")
    yield served
    await served.http.aclose()
    assert "Traceback" not in served.log.read_text()


@asynccontextmanager
async def connected(worker: Independent) -> AsyncIterator[Independent]:
    """A worker on the link until the block ends."""
    task = asyncio.ensure_future(worker.run())  # type: ignore[attr-defined]
    try:
        await asyncio.wait_for(worker.ready.wait(), 10)
        yield worker
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await worker.close()


async def until(condition: Callable[[], Any], timeout_s: float = 10) -> None:
    """Wait for something a worker or server does on its own."""
    async with asyncio.timeout(timeout_s):
        while not condition():  # noqa: ASYNC110  it happens in another process
            await asyncio.sleep(0.01)

"""The server and the foreign workers of the link tests, and tokens of every role."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.integration.link.conftest import TOKEN, LinkServer
from tests.integration.link.independent import SecondGeneration
from windlass.testing.processes import ServerProcess, started

Json = dict[str, Any]
DEMO = [("demo", "1.0.0")]


@pytest.fixture
def server_args() -> tuple[str, ...]:
    """Options a test adds to the server's."""
    return ()


@pytest.fixture
async def server(
    fresh_database: str, tmp_path: Path, server_args: tuple[str, ...]
) -> AsyncIterator[LinkServer]:
    log = tmp_path / "server.log"
    process = ServerProcess(
        fresh_database, "--admin-token", TOKEN, "--lease-s", "2", *server_args, log=log
    )
    with started(process):
        served = LinkServer(process, log)
        yield served
        await served.http.aclose()
    assert "Traceback" not in log.read_text()


def foreign(server: LinkServer, name: str = "foreign", **more: Any) -> SecondGeneration:
    """A worker that shares no code with ours."""
    return SecondGeneration(server.url, name, more.pop("packages", DEMO), token=TOKEN, **more)


async def token(server: LinkServer, role: str) -> httpx.AsyncClient:
    """A client with a token of a role."""
    made = await server.http.post("/api/v1/tokens", json={"name": f"a {role}", "role": role})
    assert made.status_code == 201, made.text
    headers = {"Authorization": f"Bearer {made.json()['token']}"}
    return httpx.AsyncClient(base_url=server.url, headers=headers, timeout=30)


async def until(check: Callable[[], Any], timeout_s: float = 10.0) -> Any:
    """Ask until the answer, awaited if need be, is true."""
    async with asyncio.timeout(timeout_s):
        while True:
            answer = check()
            if isinstance(answer, Awaitable):
                answer = await answer
            if answer:
                return answer
            await asyncio.sleep(0.02)

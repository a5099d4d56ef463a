"""The server and the foreign workers of the link tests, and tokens of every role."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import httpx

from tests.integration.link.conftest import TOKEN, LinkServer, link_process, server
from tests.integration.link.independent import SecondGeneration

__all__ = ["foreign", "link_process", "server", "token", "until"]

Json = dict[str, Any]
DEMO = [("demo", "1.0.0")]


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

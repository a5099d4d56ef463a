"""A container runtime that fails because it is busy is asked again, where that does no harm."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from windlass.drivers.env.docker import DockerApi, Refused

pytestmark = pytest.mark.anyio


class Busy:
    """Answers with 500 a few times, and then does it."""

    def __init__(self, failures: int, status: int = 500) -> None:
        self.asked = Counter[str]()
        self._failures = failures
        self._status = status

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        method = head.split(b" ", 1)[0].decode()
        self.asked[method] += 1
        status = self._status if self.asked[method] <= self._failures else 200
        body = b'{"message":"image not known"}'
        size = f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        writer.write(f"HTTP/1.1 {status} So\r\n{size}".encode() + body)
        await writer.drain()
        writer.close()


@asynccontextmanager
async def serving(busy: Busy) -> AsyncIterator[DockerApi]:
    async with await asyncio.start_server(busy.answer, "127.0.0.1", 0) as server:
        api = DockerApi(f"tcp://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        yield api
        await api.close()


Ask = Callable[[DockerApi], Awaitable[object]]


@pytest.mark.parametrize(
    ("method", "ask"),
    [
        ("GET", lambda api: api.get("/images/json")),
        ("PUT", lambda api: api.call("PUT", "/containers/a/archive", content=b"tar")),
        ("DELETE", lambda api: api.call("DELETE", "/images/a")),
        ("POST", lambda api: api.call("POST", "/commit", json={}, repeatable=True)),
    ],
)
async def test_what_a_busy_runtime_fails_at_is_asked_again(method: str, ask: Ask) -> None:
    busy = Busy(2)
    async with serving(busy) as api:
        await ask(api)
    assert busy.asked == {method: 3}


async def test_it_is_not_asked_for_ever() -> None:
    busy = Busy(1000)
    async with serving(busy) as api:
        with pytest.raises(Refused, match="image not known"):
            await api.get("/images/json")
    assert busy.asked["GET"] == 4


@pytest.mark.parametrize(("method", "status"), [("POST", 500), ("GET", 404), ("DELETE", 409)])
async def test_what_must_not_be_done_twice_and_what_is_refused_is_asked_once(
    method: str, status: int
) -> None:
    busy = Busy(1, status)
    async with serving(busy) as api:
        with pytest.raises(Refused):
            await api.call(method, "/containers/create")
    assert busy.asked == {method: 1}

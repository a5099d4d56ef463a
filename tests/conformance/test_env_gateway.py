"""The way of a real DevTools client, Playwright, through the gateway to a browser."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Error, async_playwright
from websockets.asyncio.client import connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from tests.conformance import runtimes
from windlass.drivers.env.browser import ChromiumBackend
from windlass.drivers.env.browser_process import BrowserProcess
from windlass.drivers.env.host import EnvHost
from windlass.drivers.env.remote import RemoteBackend
from windlass.ports.env import BrowserBackend, SocketEnded

pytestmark = pytest.mark.anyio


class Socket:
    """A `websockets` connection as the port has them."""

    def __init__(self, connection: ServerConnection) -> None:
        self._connection = connection

    async def send(self, message: str) -> None:
        try:
            await self._connection.send(message)
        except ConnectionClosed as error:
            raise SocketEnded from error

    async def recv(self) -> str | bytes:
        try:
            return await self._connection.recv()
        except ConnectionClosed as error:
            raise SocketEnded from error


class Served:
    """A browser behind a gateway, under an address a client can use."""

    def __init__(self, env: BrowserBackend, folder: Path) -> None:
        self.env = env
        self.folder = folder
        self.revoked = asyncio.Event()
        self.ended: asyncio.Queue[str] = asyncio.Queue()
        self.url = ""

    async def handle(self, connection: ServerConnection) -> None:
        why = await self.env.serve("a", 1, Socket(connection), self.revoked)
        await self.ended.put(why)


@pytest.fixture(params=["here", "behind-a-host"])
async def served(
    request: pytest.FixtureRequest, chromium: str, tmp_path: Path
) -> AsyncIterator[Served]:
    runtime = runtimes.browser(chromium, tmp_path)
    env: BrowserBackend = ChromiumBackend(chromium, tmp_path)
    connected = runtimes.Connected()
    if request.param == "behind-a-host":
        env = RemoteBackend(connected.connect(EnvHost({"browser": env})), "browser")
    await env.allocate(runtime.spec("a"))
    found = Served(env, tmp_path)
    async with serve(found.handle, "127.0.0.1", 0, max_size=None) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        found.url = f"ws://127.0.0.1:{port}"
        yield found
    await env.release("a")
    await connected.end()


async def test_playwright_drives_the_session_and_nothing_beyond_it(served: Served) -> None:
    secret = served.folder / "secret.txt"
    secret.write_text("secret")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.connect_over_cdp(served.url)
        context = browser.contexts[0]
        page = context.pages[0]
        await page.goto("data:text/html,<title>hello</title><input type=file>")
        assert await page.title() == "hello"
        await served.env.write("a", 1, "up.txt", b"given")
        session = await context.new_cdp_session(page)
        found = await session.send(
            "Runtime.evaluate", {"expression": "document.querySelector('input')"}
        )
        at = found["result"]["objectId"]
        await session.send("DOM.setFileInputFiles", {"files": ["up.txt"], "objectId": at})
        read = "document.querySelector('input').files[0].text()"
        assert await page.evaluate(read) == "given"
        with pytest.raises(Error, match="outside"):
            await session.send("DOM.setFileInputFiles", {"files": [str(secret)], "objectId": at})
        with pytest.raises(Error, match="not for holders"):
            await page.goto(f"file://{secret}")
        await browser.close()
    assert await served.ended.get() == "client"
    assert await served.env.inspect("a") == "running"


async def test_a_revoked_lease_ends_the_connection_and_not_the_browser(served: Served) -> None:
    async with connect(served.url) as client:
        await client.send('{"id": 1, "method": "Browser.getVersion"}')
        assert "Chrome" in str(await client.recv())
        served.revoked.set()
        assert await served.ended.get() == "revoked"
        with pytest.raises(ConnectionClosed):
            await client.recv()
    assert await served.env.inspect("a") == "running"


async def test_a_browser_that_ends_ends_the_connection(served: Served) -> None:
    async with connect(served.url) as client:
        await client.send('{"id": 1, "method": "Browser.getVersion"}')
        await client.recv()
        await asyncio.to_thread(BrowserProcess(served.folder / "sessions" / "a").end)
        assert await served.ended.get() == "browser"
        with contextlib.suppress(ConnectionClosed):
            await client.recv()

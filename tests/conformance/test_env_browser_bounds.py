"""What a browser may not have: more memory than it was given, and any network if it has none."""

import asyncio
import os
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conformance import runtimes
from tests.conformance.runtimes import Runtime
from tests.site import site
from windlass.drivers.env import netns
from windlass.drivers.env.browser import ChromiumBackend
from windlass.drivers.env.browser_process import BrowserProcess
from windlass.drivers.env.cdp import Cdp, attached, browser_at, pages_of
from windlass.drivers.env.host import EnvHost
from windlass.drivers.env.remote import RemoteBackend
from windlass.ports.env import BrowserBackend, PlaceError, PlaceGone, SocketEnded

pytestmark = pytest.mark.anyio
_FILL = """
const held = [];
for (let i = 0; i < 40; i++) held.push(new Uint8Array(16 << 20).fill(i + 1));
window.held = held;
held.length
"""


@pytest.fixture
def runtime(chromium: str, tmp_path: Path) -> Runtime:
    return runtimes.browser(chromium, tmp_path)


@pytest.fixture
async def env(runtime: Runtime) -> AsyncIterator[ChromiumBackend]:
    backend = runtime.open()
    assert isinstance(backend, ChromiumBackend)
    yield backend
    for place in await backend.list():
        await backend.release(place.name)
    await backend.close()


@pytest.fixture
def page() -> Iterator[str]:
    with site() as url:
        yield url


class Silent:
    """A DevTools client that only waits."""

    async def send(self, message: str) -> None:
        raise SocketEnded

    async def recv(self) -> str:
        await asyncio.Event().wait()
        raise SocketEnded


async def evaluated(cdp: Cdp, session: str, expression: str) -> Any:
    asked = {"expression": expression, "awaitPromise": True, "returnByValue": True}
    told = await cdp.call("Runtime.evaluate", asked, session=session, wait_s=30)
    return told["result"].get("value")


@pytest.mark.parametrize("hosted", [False, True])
async def test_a_session_that_grows_too_large_is_ended_and_says_so(
    runtime: Runtime, env: ChromiumBackend, hosted: bool
) -> None:
    connected = runtimes.Connected()
    used: BrowserBackend = env
    if hosted:
        used = RemoteBackend(connected.connect(EnvHost({"browser": env})), "browser")
    small, large = runtime.spec("a", memory_mb=500), runtime.spec("b")
    for spec in (small, large):
        await used.allocate(spec)
    gateway = asyncio.create_task(used.serve("a", 1, Silent(), asyncio.Event()))
    for name in ("a", "b"):
        async with browser_at(await env.endpoint(name, 1)) as cdp:
            [found] = await pages_of(cdp)
            async with attached(cdp, found["targetId"]) as session:
                try:
                    await evaluated(cdp, session, _FILL)
                except PlaceGone:
                    assert name == "a"
    async with asyncio.timeout(15):
        with pytest.raises(PlaceGone, match="MiB of memory and may use 500"):
            await gateway
    with pytest.raises(PlaceGone, match=r"stopped: it used .*memory_mb"):
        await used.write("a", 1, "x", b"")
    assert (await used.inspect("a"), await used.inspect("b")) == ("stopped", "running")
    await used.allocate(small)
    await used.write("a", 1, "x", b"it is back")
    await connected.end()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
async def test_a_browser_without_network_reaches_nothing(
    runtime: Runtime, env: ChromiumBackend, page: str
) -> None:
    """Neither the world nor this machine; and it is a whole session all the same."""
    reach = f"fetch('{page}', {{mode: 'no-cors'}}).then(() => 'reached', () => 'not')"
    for name, config, found in (("open", {}, "reached"), ("shut", {"network": "none"}, "not")):
        await env.allocate(runtime.spec(name, **config))
        async with browser_at(await env.endpoint(name, 1)) as cdp:
            [target] = await pages_of(cdp)
            async with attached(cdp, target["targetId"]) as session:
                assert await evaluated(cdp, session, reach) == found, name
    process = BrowserProcess(env._folder / "shut")
    assert netns.is_apart(process.pid())
    with pytest.raises(OSError, match="unreachable"):
        netns._in_a_thread(lambda: _dial_out(process.pid()))
    kept = await env.snapshot("shut", "x")
    assert (await env.screenshot("shut")).startswith(b"\x89PNG")
    process.end()
    await env.restore(runtime.spec("shut", network="none"), kept)
    assert netns.is_apart(process.pid()), "also when it was brought back"
    assert threading.current_thread() is threading.main_thread()
    assert not netns.is_apart(os.getpid())


def _dial_out(pid: int) -> None:
    """To another machine, from where the browser is."""
    network = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
    assert netns._libc().setns(network, netns._NEW_NETWORK) == 0
    os.close(network)
    socket.create_connection(("192.0.2.1", 80), timeout=1)


async def test_where_it_cannot_be_had_it_is_refused(
    runtime: Runtime, env: ChromiumBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(netns, "apart", denied)
    with pytest.raises(PlaceError, match="needs a server or host that runs as root"):
        await env.allocate(runtime.spec("a", network="none"))
    assert await env.inspect("a") != "running"

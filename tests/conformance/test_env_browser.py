"""What browser sessions promise besides: what is brought back, how soon, and who is let in."""

import asyncio
import contextlib
import http.server
import os
import signal
import threading
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.conformance import runtimes
from tests.conformance.runtimes import Runtime
from windlass.drivers.env.browser import ChromiumBackend
from windlass.drivers.env.browser_process import BrowserProcess
from windlass.drivers.env.cdp import Cdp, attached, browser_at, pages_of
from windlass.ports.env import PlaceError, PlaceGone, RuntimeAway, StalePlace
from windlass.testing.processes import wait_until

pytestmark = pytest.mark.anyio
ROUNDS = 5
RESTORED_S = 3.0


class Site(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        told = f"<title>{self.path}</title><p>cookies: {self.headers.get('Cookie', '')}</p>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        with contextlib.suppress(ConnectionError):
            self.wfile.write(told.encode())

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    serving = threading.Thread(target=server.serve_forever, daemon=True)
    serving.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    serving.join()


@pytest.fixture
def runtime(chromium: str, tmp_path: Path) -> Runtime:
    return runtimes.browser(chromium, tmp_path)


@pytest.fixture
async def env(runtime: Runtime) -> AsyncIterator[ChromiumBackend]:
    backend = opened(runtime)
    yield backend
    for place in await backend.list():
        await backend.release(place.name)


def opened(runtime: Runtime) -> ChromiumBackend:
    backend = runtime.open()
    assert isinstance(backend, ChromiumBackend)
    return backend


async def evaluate(cdp: Cdp, script: str) -> Any:
    page = (await pages_of(cdp))[0]
    async with attached(cdp, page["targetId"]) as session:
        asked = {"expression": script, "returnByValue": True, "awaitPromise": True}
        return (await cdp.call("Runtime.evaluate", asked, session=session))["result"].get("value")


async def in_page(env: ChromiumBackend, script: str, epoch: int = 1) -> Any:
    async with browser_at(await env.endpoint("a", epoch)) as cdp:
        return await evaluate(cdp, script)


async def log_in(env: ChromiumBackend, mark: str) -> None:
    await in_page(
        env,
        f"document.cookie = 'seen={mark}; max-age=3600'; document.cookie = 'session={mark}';"
        f"localStorage.setItem('basket', '{mark}')",
    )


@pytest.mark.alone
async def test_cookies_storage_and_pages_are_brought_back_soon(
    runtime: Runtime, env: ChromiumBackend, site: str
) -> None:
    await env.allocate(runtime.spec("a", start_url=f"{site}/first"))
    took: list[float] = []
    for number in range(ROUNDS):
        await log_in(env, f"n{number}")
        kept = await env.snapshot("a", "before")
        await log_in(env, "spoiled")
        runtime.stop("a")
        began = time.monotonic()
        env = opened(runtime)
        await env.restore(runtime.spec("a"), kept)
        took.append(time.monotonic() - began)
        assert await in_page(env, "location.href") == f"{site}/first"
        assert await in_page(env, "document.title") == "/first"
        assert await in_page(env, "localStorage.getItem('basket')") == f"n{number}"
        assert await in_page(env, "document.cookie") == f"seen=n{number}; session=n{number}"
        shown = await in_page(env, "document.body.innerText")
        assert f"session=n{number}" in shown, "the page was loaded before its cookies were there"
        assert (await env.snapshot("a", "after")).digest == kept.digest
    took.sort()
    print(f"restored in {took} s")
    assert took[int(len(took) * 0.95)] < RESTORED_S


async def test_a_browser_that_died_comes_back_with_its_session(
    runtime: Runtime, env: ChromiumBackend, site: str
) -> None:
    await env.allocate(runtime.spec("a", start_url=f"{site}/first"))
    await log_in(env, "here")
    await env.snapshot("a", "before")
    browser = BrowserProcess(runtime_folder(env) / "a")
    os.kill(browser.pid(), signal.SIGKILL)
    await asyncio.to_thread(wait_until, lambda: browser.pid() == 0)
    later = opened(runtime)
    await later.allocate(runtime.spec("a", start_url=f"{site}/first"))
    assert await in_page(later, "location.href") == f"{site}/first"
    assert await in_page(later, "document.cookie") == "seen=here; session=here"
    assert await in_page(later, "localStorage.getItem('basket')") == "here"


def runtime_folder(env: ChromiumBackend) -> Path:
    return env._folder


async def test_a_digest_sees_every_kind_of_change(
    runtime: Runtime, env: ChromiumBackend, site: str
) -> None:
    await env.allocate(runtime.spec("a", start_url=f"{site}/first"))
    await log_in(env, "a")
    before = (await env.snapshot("a", "x")).digest
    for change, undo in (
        ("document.cookie = 'session=b'", "document.cookie = 'session=a'"),
        ("document.cookie = 'new=b'", "document.cookie = 'new=; max-age=0'"),
        ("localStorage.setItem('basket', 'b')", "localStorage.setItem('basket', 'a')"),
        ("localStorage.setItem('more', 'b')", "localStorage.removeItem('more')"),
        ("history.pushState(0, '', '/second')", "history.pushState(0, '', '/first')"),
    ):
        await in_page(env, change)
        assert (await env.snapshot("a", "x")).digest != before, change
        await in_page(env, undo)
        assert (await env.snapshot("a", "x")).digest == before, undo
    # A cookie that lives on for longer is the same cookie.
    await in_page(env, "document.cookie = 'seen=a; max-age=7200'")
    assert (await env.snapshot("a", "x")).digest == before
    async with browser_at(await env.endpoint("a", 1)) as cdp:
        opened_page = await cdp.call("Target.createTarget", {"url": f"{site}/more"})
        assert (await env.snapshot("a", "x")).digest != before
        await cdp.call("Target.closeTarget", opened_page)


async def test_only_the_latest_holder_learns_where_a_browser_answers(
    runtime: Runtime, env: ChromiumBackend
) -> None:
    await env.allocate(runtime.spec("a"))
    assert (await env.endpoint("a", 1)).startswith("ws://127.0.0.1:")
    await env.still("a", 2)
    with pytest.raises(StalePlace):
        await opened(runtime).endpoint("a", 1)
    await env.endpoint("a", 2)
    runtime.stop("a")
    with pytest.raises(PlaceGone):
        await env.endpoint("a", 2)


async def test_a_browser_is_as_its_resource_says(
    runtime: Runtime, env: ChromiumBackend, site: str
) -> None:
    size = {"width": 640, "height": 480}
    wanted = runtime.spec(
        "a", viewport=size, locale="de-CH", timezone="Asia/Tokyo", start_url=f"{site}/first"
    )
    place = await env.allocate(wanted)
    assert place.details["browser"].startswith("Chromium ")
    script = "[navigator.language, Intl.DateTimeFormat().resolvedOptions().timeZone, outerWidth]"
    assert await in_page(env, script) == ["de-CH", "Asia/Tokyo", 640]
    shot = await env.screenshot("a")
    assert shot.startswith(b"\x89PNG\r\n")
    with pytest.raises(PlaceError, match="runs no commands"):
        await env.execute("a", 1, ["true"])
    for path in ("/etc/passwd", "../pid", "../../a/pid"):
        with pytest.raises(PlaceError, match="outside"):
            await env.read("a", 1, path)


async def test_sessions_know_nothing_of_each_other(
    runtime: Runtime, env: ChromiumBackend, site: str
) -> None:
    for name in ("a", "b"):
        await env.allocate(runtime.spec(name, start_url=f"{site}/{name}"))
    await log_in(env, "secret")
    async with browser_at(await env.endpoint("b", 1)) as cdp:
        assert await evaluate(cdp, "document.cookie + localStorage.length") == "0"
        assert len(await pages_of(cdp)) == 1


async def test_a_released_session_leaves_nothing_behind(
    runtime: Runtime, env: ChromiumBackend, tmp_path: Path
) -> None:
    await env.allocate(runtime.spec("a"))
    pid = BrowserProcess(runtime_folder(env) / "a").pid()
    session = [other for other in psutil.pids() if leads(pid, other)]
    assert len(session) > 2
    await opened(runtime).release("a")
    assert not any(leads(pid, other) for other in session)
    assert files_below(tmp_path / "sessions") == []


def files_below(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob("*") if path.is_file()]


def leads(leader: int, pid: int) -> bool:
    try:
        return os.getsid(pid) == leader and "Z" not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


async def test_a_crash_between_two_steps_leaves_nothing_that_is_not_found(
    runtime: Runtime, env: ChromiumBackend
) -> None:
    await env.allocate(runtime.spec("a"))
    folder = runtime_folder(env) / "a"
    before = BrowserProcess(folder).pid()
    (folder / "pid").unlink()
    later = opened(runtime)
    assert await later.inspect("a") == "running"
    await later.allocate(runtime.spec("a"))
    assert BrowserProcess(folder).pid() == before, "one that nobody wrote down was started again"
    runtime.remove("a")
    (folder / "spec").unlink()
    assert [place.name for place in await later.list()] == ["a"]
    await later.release("a")
    assert await later.list() == []


async def test_a_process_that_is_not_that_browser_is_never_ended(
    runtime: Runtime, env: ChromiumBackend
) -> None:
    await env.allocate(runtime.spec("a"))
    runtime.stop("a")
    other = await asyncio.create_subprocess_exec("sleep", "60")
    folder = runtime_folder(env) / "a"
    (folder / "pid").write_text(str(other.pid))
    (folder / "profile" / "SingletonLock").symlink_to(f"host-{other.pid}")
    assert await env.inspect("a") == "stopped"
    await env.release("a")
    assert other.returncode is None
    other.kill()
    assert await other.wait() == -signal.SIGKILL


async def test_a_browser_that_is_not_there_is_away(tmp_path: Path) -> None:
    env = ChromiumBackend(str(tmp_path / "none"), tmp_path)
    with pytest.raises(RuntimeAway, match="cannot be started"):
        await env.capabilities()
    with pytest.raises(RuntimeAway):
        await env.allocate(runtimes.browser("none", tmp_path).spec("a"))

"""The page of a leased browser, as a handler drives it; knows nothing but Playwright."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any

MISSING = "the browser's page needs Playwright: pip install playwright (no browsers of its own)"


_KEPT_S = 60.0


class Driver:
    """Playwright's own process, for the pages of one event loop: it takes most of a second to
    start, so it is kept for a while when the last of them is left."""

    def __init__(self, kept_s: float) -> None:
        self.kept_s = kept_s
        """0 where nobody else is to use it."""
        self._started: asyncio.Future[Any] | None = None
        self._pages = 0
        self._idle: asyncio.TimerHandle | None = None
        self._stopping: asyncio.Future[None] | None = None

    async def enter(self, api: Any) -> Any:
        self._pages += 1
        if self._idle is not None:
            self._idle.cancel()
        started = self._started
        if started is None:
            started = self._started = asyncio.ensure_future(api.async_playwright().start())
        return await asyncio.shield(started)

    async def leave(self) -> None:
        self._pages -= 1
        if self._pages:
            return
        if self.kept_s:
            loop = asyncio.get_running_loop()
            self._idle = loop.call_later(self.kept_s, self._stop)
        else:
            await self.close()

    async def close(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
        self._stop()
        if self._stopping is not None:
            await self._stopping

    def _stop(self) -> None:
        started, self._started = self._started, None
        if started is not None:
            self._stopping = asyncio.ensure_future(_stopped(started))


async def _stopped(started: "asyncio.Future[Any]") -> None:
    with contextlib.suppress(Exception):
        await (await started).stop()


_drivers: dict[asyncio.AbstractEventLoop, Driver] = {}


@contextlib.asynccontextmanager
async def driver_kept() -> AsyncGenerator[None]:
    """Let all pages of this loop share one driver; each has its own where nobody does this."""
    loop = asyncio.get_running_loop()
    _drivers[loop] = Driver(_KEPT_S)
    try:
        yield
    finally:
        await _drivers.pop(loop).close()


class BrowserPage:
    """A Playwright page in the leased browser. Leaving it leaves the browser as it is."""

    def __init__(self, endpoint: Callable[[], str], missing: type[Exception]) -> None:
        self._endpoint = endpoint
        self._missing = missing
        self._playwright: Any = None
        self._browser: Any = None
        self._driver = Driver(0.0)

    def __enter__(self) -> Any:
        api = self._api("sync_api")
        with ThreadPoolExecutor(1, thread_name_prefix="endpoint") as threads:
            asked = threads.submit(self._endpoint)
            self._playwright = api.sync_playwright().start()
            try:
                endpoint = asked.result()
                self._browser = self._playwright.chromium.connect_over_cdp(endpoint)
            except BaseException:
                self._playwright.stop()
                raise
        context = self._browser.contexts[0]
        return context.pages[0] if context.pages else context.new_page()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._playwright.stop()

    async def __aenter__(self) -> Any:
        api = self._api("async_api")
        asked = asyncio.ensure_future(asyncio.to_thread(self._endpoint))
        self._driver = driver = _drivers.get(asyncio.get_running_loop()) or Driver(0.0)
        try:
            # Playwright takes as long to start as a browser that died takes to come back.
            self._playwright = await driver.enter(api)
            endpoint = await asked
            self._browser = await self._connected(endpoint)
        except BaseException:
            asked.cancel()
            await driver.leave()
            raise
        context = self._browser.contexts[0]
        return context.pages[0] if context.pages else await context.new_page()

    async def _connected(self, endpoint: str) -> Any:
        try:
            return await self._playwright.chromium.connect_over_cdp(endpoint)
        except Exception:
            # If it is the driver that has died, the next page had better have another one.
            loop = asyncio.get_running_loop()
            if _drivers.get(loop) is self._driver:
                _drivers[loop] = Driver(_KEPT_S)
                self._driver.kept_s = 0.0
            raise

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with contextlib.suppress(Exception):
            await self._browser.close()  # The connection, that is: the browser is not ours.
        await self._driver.leave()

    def _api(self, name: str) -> Any:
        try:
            return __import__(f"playwright.{name}", fromlist=[name])
        except ImportError:
            raise self._missing(MISSING) from None

"""The page of a leased browser, as a handler drives it; knows nothing but Playwright."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any

MISSING = "the browser's page needs Playwright: pip install playwright (no browsers of its own)"


class BrowserPage:
    """A Playwright page in the leased browser. Leaving it leaves the browser as it is."""

    def __init__(self, endpoint: Callable[[], str], missing: type[Exception]) -> None:
        self._endpoint = endpoint
        self._missing = missing
        self._playwright: Any = None
        self._browser: Any = None

    def __enter__(self) -> Any:
        api = self._api("sync_api")
        # Playwright takes as long to start as a browser that died takes to come back.
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
        self._playwright = await api.async_playwright().start()
        try:
            self._browser = await self._playwright.chromium.connect_over_cdp(await asked)
        except BaseException:
            await self._playwright.stop()
            raise
        context = self._browser.contexts[0]
        return context.pages[0] if context.pages else await context.new_page()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._playwright.stop()

    def _api(self, name: str) -> Any:
        try:
            return __import__(f"playwright.{name}", fromlist=[name])
        except ImportError:
            raise self._missing(MISSING) from None

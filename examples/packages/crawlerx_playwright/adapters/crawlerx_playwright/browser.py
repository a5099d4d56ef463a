"""One Chromium for all pages of this process, started when it is needed."""

import asyncio
from dataclasses import dataclass

from playwright.async_api import Browser, BrowserContext, Page, Playwright, async_playwright

CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = [
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
]


@dataclass
class Session:
    """A page with cookies and storage of its own."""

    page: Page
    context: BrowserContext


class Chromium:
    """Gives out sessions; the browser ends with the last of them."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._driver: Playwright | None = None
        self._browser: Browser | None = None
        self._sessions = 0

    async def open(self, executable: str = CHROMIUM, *, ignore_tls: bool = False) -> Session:
        async with self._lock:
            browser = await self._running(executable)
            context = await browser.new_context(ignore_https_errors=ignore_tls)
            self._sessions += 1
        try:
            return Session(await context.new_page(), context)
        except BaseException:
            await self._leave(context)
            raise

    async def close(self, session: Session) -> None:
        await self._leave(session.context)

    async def _running(self, executable: str) -> Browser:
        if self._browser is not None and self._browser.is_connected():
            return self._browser
        if self._driver is None:
            self._driver = await async_playwright().start()
        self._sessions = 0
        self._browser = await self._driver.chromium.launch(
            executable_path=executable, chromium_sandbox=False, args=ARGUMENTS
        )
        return self._browser

    async def _leave(self, context: BrowserContext) -> None:
        async with self._lock:
            browser = self._browser
            if browser is None or context.browser is not browser:
                return  # its browser is gone already
            self._sessions -= 1
            await context.close()
            if self._sessions <= 0:
                self._browser = None
                await browser.close()

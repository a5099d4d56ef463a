"""What a browser session is made of: cookies, local storage, open pages and the workspace's files.

Taken and put back over DevTools. Storage belongs to an origin, and only a page of that origin can
reach it: so it is put back through a page whose every request we answer ourselves, with nothing,
which needs neither network nor the site.
"""

import asyncio
import base64
import contextlib
import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from windlass.drivers.env.browser_config import BLANK
from windlass.drivers.env.cdp import Cdp, Told, attached, pages_of
from windlass.ports.env import PlaceError

LOAD_S = 5.0
"""How long a page may take to load before it is left to go on by itself."""
_POLL_S = 0.01
_COOKIE_FIELDS = (
    "name",
    "value",
    "domain",
    "path",
    "httpOnly",
    "secure",
    "sameSite",
    "partitionKey",
)
# A page sets cookies in passing. To read them makes it wait until those it has set are there, so
# that the browser, asked next, knows of them as well.
_LOOK = """(() => {
    const at = [location.href, location.origin]
    try { document.cookie; return [...at, Object.entries(localStorage)] }
    catch (error) { return [...at, []] }
})()"""
_WAIT_FOR_LOAD = (
    "new Promise(done => document.readyState === 'complete' ? done()"
    " : addEventListener('load', () => done()))"
)
_SET_IF_MISSING = "if (localStorage.getItem(key) === null) localStorage.setItem(key, value)"

Entries = list[tuple[str, str]]


class BrowserState(msgspec.Struct, kw_only=True):
    cookies: list[dict[str, Any]] = []
    storage: dict[str, Entries] = {}
    """By origin, in the order of keys."""
    pages: list[str] = []
    files: dict[str, bytes] = {}

    def digest(self) -> str:
        """Over what matters: not when cookies run out, nor in which order things were told."""
        cookies = sorted(
            msgspec.json.encode([cookie.get(name) for name in _COOKIE_FIELDS], order="sorted")
            for cookie in self.cookies
        )
        files = {path: hashlib.sha256(data).hexdigest() for path, data in self.files.items()}
        seen = [
            [base64.b64encode(cookie).decode() for cookie in cookies],
            {origin: entries for origin, entries in self.storage.items() if entries},
            sorted(self.pages),
            files,
        ]
        return f"sha256:{hashlib.sha256(msgspec.json.encode(seen, order='sorted')).hexdigest()}"


async def take(cdp: Cdp, files: dict[str, bytes]) -> BrowserState:
    """The session as it is."""
    state = BrowserState(files=files)
    for page in await pages_of(cdp):
        async with attached(cdp, page["targetId"]) as session:
            url, origin, entries = await _evaluate(cdp, session, _LOOK)
        # The browser learns late where a page has gone by itself; a page that could not be loaded
        # does not know where it should have been.
        state.pages.append(page["url"] if url.startswith("chrome-error:") else url)
        if origin != "null":
            state.storage[origin] = sorted((key, value) for key, value in entries)
    state.cookies = (await cdp.call("Storage.getCookies"))["cookies"]
    return state


async def put_back(cdp: Cdp, state: BrowserState) -> None:
    """Make a fresh session the one that was. What a profile has kept by itself is newer, and stays:
    Chromium writes cookies and storage down late, so after a crash only some of it is there."""
    present = {_identity(cookie) for cookie in (await cdp.call("Storage.getCookies"))["cookies"]}
    missing = [_settable(each) for each in state.cookies if _identity(each) not in present]
    if missing:
        await cdp.call("Storage.setCookies", {"cookies": missing})
    await _store(cdp, (await _pages_once(cdp, any))[0], state.storage)
    await open_pages(cdp, state.pages)


async def open_pages(cdp: Cdp, urls: Sequence[str]) -> None:
    """Have these pages open and no other; the first of them in front. It goes on in a page that is
    there already: each new one is a process more that has to start."""
    before = await _pages_once(cdp, any)
    first, *others = urls or [BLANK]
    opened: list[str] = []
    for url in reversed(others):
        told = await cdp.call("Target.createTarget", {"url": url, "background": True})
        opened.append(told["targetId"])
    for target in before[1:]:
        await cdp.call("Target.closeTarget", {"targetId": target})
    await _pages_once(cdp, lambda pages: not set(pages) & set(before[1:]))
    await asyncio.gather(_go(cdp, before[0], first), *(_loaded(cdp, each) for each in opened))


async def _pages_once(cdp: Cdp, fits: Callable[[list[str]], bool]) -> list[str]:
    """The open pages, once they are as they are about to be: a browser answers before it has
    opened its first page, and before it has closed one."""
    async with asyncio.timeout(LOAD_S):
        while True:
            pages = [str(page["targetId"]) for page in await pages_of(cdp)]
            if fits(pages):
                return pages
            await asyncio.sleep(_POLL_S)


async def _go(cdp: Cdp, target: str, url: str) -> None:
    """Have a page show something else, as if it had never shown anything before."""
    async with attached(cdp, target) as session:
        with contextlib.suppress(PlaceError, TimeoutError):
            async with asyncio.timeout(LOAD_S):
                await cdp.call("Page.navigate", {"url": url}, session=session)
                await _evaluate(cdp, session, _WAIT_FOR_LOAD)
                await cdp.call("Page.resetNavigationHistory", session=session)


async def _loaded(cdp: Cdp, target: str) -> None:
    async with attached(cdp, target) as session:
        with contextlib.suppress(PlaceError, TimeoutError):
            async with asyncio.timeout(LOAD_S):
                await _evaluate(cdp, session, _WAIT_FOR_LOAD)


async def _store(cdp: Cdp, target: str, storage: dict[str, Entries]) -> None:
    wanted = {origin: entries for origin, entries in storage.items() if entries}
    if not wanted:
        return
    answering: set[asyncio.Task[Told]] = set()

    def answer(event: str, told: Told, session: str) -> None:
        if event == "Fetch.requestPaused":
            blank: Told = {"requestId": told["requestId"], "responseCode": 200, "body": ""}
            blank["responseHeaders"] = [{"name": "Content-Type", "value": "text/html"}]
            answering.add(
                asyncio.create_task(cdp.call("Fetch.fulfillRequest", blank, session=session))
            )

    cdp.on_event = answer
    async with attached(cdp, target) as session:
        await cdp.call("Fetch.enable", session=session)
        for origin, entries in wanted.items():
            await cdp.call("Page.navigate", {"url": f"{origin}/"}, session=session)
            given = msgspec.json.encode(entries).decode()
            script = f"for (const [key, value] of {given}) {_SET_IF_MISSING}"
            await _evaluate(cdp, session, script)
        await cdp.call("Fetch.disable", session=session)
    await asyncio.gather(*answering, return_exceptions=True)


async def _evaluate(cdp: Cdp, session: str, script: str) -> Any:
    asked = {"expression": script, "returnByValue": True, "awaitPromise": True}
    told = await cdp.call("Runtime.evaluate", asked, session=session)
    if "exceptionDetails" in told:
        raise PlaceError(f"a page refused: {told['exceptionDetails'].get('text')}")
    return told["result"].get("value")


def _identity(cookie: dict[str, Any]) -> tuple[str, ...]:
    return tuple(str(cookie.get(part)) for part in ("name", "domain", "path", "partitionKey"))


def _settable(cookie: dict[str, Any]) -> dict[str, Any]:
    """What may be told of a cookie is more than what may be set."""
    fields = (*_COOKIE_FIELDS, "priority", "sourceScheme", "sourcePort")
    found = {name: cookie[name] for name in fields if cookie.get(name) is not None}
    if not cookie.get("session", False):
        found["expires"] = cookie["expires"]
    return found

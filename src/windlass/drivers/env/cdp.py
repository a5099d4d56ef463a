"""A client of Chromium's DevTools protocol: calls and their answers over one WebSocket."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable
from typing import Any, cast
from urllib.parse import urlsplit

import msgspec
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

from windlass.drivers.env import netns
from windlass.ports.env import PlaceError, PlaceGone, RuntimeAway

MESSAGE_BYTES_MAX = 256 << 20
"""Chromium's own bound on what it sends at once."""
_CALL_S = 10.0

Told = dict[str, Any]
OnEvent = Callable[[str, Told, str], None]
"""Is told an event's name, what it carries, and its session."""


class Cdp:
    """One connection to a browser."""

    def __init__(self, socket: ClientConnection, url: str) -> None:
        self._socket = socket
        self._url = url
        self._answers: dict[int, asyncio.Future[Told]] = {}
        self._asked = 0
        self.on_event: OnEvent = lambda _name, _told, _session: None

    async def call(
        self, method: str, params: Told | None = None, *, session: str = "", wait_s: float = _CALL_S
    ) -> Told:
        """Ask and wait for the answer; `PlaceError` is the browser's own no."""
        self._asked += 1
        number = self._asked
        asked: Told = {"id": number, "method": method, "params": params or {}}
        if session:
            asked["sessionId"] = session
        answer: asyncio.Future[Told] = asyncio.get_running_loop().create_future()
        self._answers[number] = answer
        try:
            await self._socket.send(msgspec.json.encode(asked).decode())
            async with asyncio.timeout(wait_s):
                told = await answer
        except TimeoutError as error:
            raise RuntimeAway(f"the browser does not answer {method}") from error
        except WebSocketException as error:
            raise PlaceGone("the browser ended") from error
        finally:
            del self._answers[number]
        if "error" in told:
            raise PlaceError(f"the browser refused {method}: {told['error'].get('message')}")
        return cast(Told, told.get("result") or {})

    async def read(self) -> None:
        """Take in what the browser says, until it ends."""
        with contextlib.suppress(WebSocketException):
            async for message in self._socket:
                told = cast(Told, msgspec.json.decode(message))
                answer = self._answers.get(told.get("id", 0))
                if answer is not None and not answer.done():
                    answer.set_result(told)
                elif "method" in told:
                    self.on_event(told["method"], told["params"], told.get("sessionId", ""))
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(PlaceGone("the browser ended"))


async def open_socket(url: str) -> ClientConnection:
    """A WebSocket to a browser on this machine; one whose address names a process is in a network
    of its own, and reached from there."""
    try:
        parts = urlsplit(url)
        there: dict[str, Any] = {}
        if parts.username:
            there["sock"] = await asyncio.to_thread(
                netns.connected, int(parts.username), parts.port or 0
            )
            url = url.replace(f"{parts.username}@", "", 1)
        return await connect(
            url,
            **there,
            max_size=MESSAGE_BYTES_MAX,
            compression=None,
            proxy=None,
            ping_interval=None,  # Chromium answers none while it is busy
            close_timeout=1,
        )
    except (OSError, TimeoutError, WebSocketException) as error:
        raise PlaceGone(f"the browser does not answer: {error}") from error


@contextlib.asynccontextmanager
async def browser_at(url: str) -> AsyncGenerator[Cdp, None]:
    socket = await open_socket(url)
    cdp = Cdp(socket, url)
    reading = asyncio.create_task(cdp.read())
    try:
        yield cdp
    finally:
        await socket.close()
        await reading


@contextlib.asynccontextmanager
async def attached(cdp: Cdp, target: str) -> AsyncGenerator[str, None]:
    """A session with one page."""
    told = await cdp.call("Target.attachToTarget", {"targetId": target, "flatten": True})
    session = str(told["sessionId"])
    try:
        yield session
    finally:
        with contextlib.suppress(PlaceError, PlaceGone, RuntimeAway):
            await cdp.call("Target.detachFromTarget", {"sessionId": session})


async def pages_of(cdp: Cdp) -> list[Told]:
    """Open pages; not those of the browser's own parts."""
    told = await cdp.call("Target.getTargets")
    return [page for page in told["targetInfos"] if page["type"] == "page"]

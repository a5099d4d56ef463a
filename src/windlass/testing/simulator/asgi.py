"""Calls to a server's real web application, without a socket: requests, and live links.

A request is one call over the simulated network. A link is a stream of frames in each direction:
they keep their order unless trouble reorders them, and may be lost or repeated; the stream itself
ends when an end is gone, or when nothing has got through for a while.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette

from windlass.client.transport import Answer
from windlass.testing.simulator.loop import VirtualLoop
from windlass.testing.simulator.network import Network
from windlass.testing.simulator.process import Process, outside
from windlass.worker.link.socket import Closed, Socket

HEADERS = [(b"host", b"localhost"), (b"content-type", b"application/json")]
PATIENCE_S = 6.0
"""A link over which nothing gets through for so long is given up by both ends."""


async def request(app: Starlette, method: str, path: str, body: bytes) -> Answer:
    """One request, answered by the application in the process this runs in."""
    path, _, query = path.partition("?")
    scope: dict[str, Any] = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": HEADERS,
        "http_version": "1.1",
        "scheme": "http",
        "server": ("localhost", 80),
        "client": ("127.0.0.1", 1),
        "root_path": "",
        "state": {},
    }
    given = [{"type": "http.request", "body": body, "more_body": False}]
    status, parts = 500, list[bytes]()

    async def receive() -> Any:
        if given:
            return given.pop()
        return await asyncio.get_running_loop().create_future()

    async def send(message: Any) -> None:
        nonlocal status
        if message["type"] == "http.response.start":
            status = message["status"]
        else:
            parts.append(message.get("body", b""))

    await app(scope, receive, send)
    return Answer(status, b"".join(parts))


class Stream:
    """One direction of a link."""

    def __init__(self, network: Network, loop: VirtualLoop) -> None:
        self._network = network
        self._loop = loop
        self._last = 0.0
        self._frames: asyncio.Queue[str | None] = asyncio.Queue()
        self.closed = False

    def put(self, one: str, two: str, frame: str) -> None:
        """Send a frame on its way."""
        for _ in range(self._network.copies()):
            delay = self._network.delay_s(one, two)
            if delay is None:
                continue
            at = self._loop.time() + delay
            if not self._network.reorders():
                at = self._last = max(self._last, at)
            self._loop.call_at(at, self._frames.put_nowait, frame, context=outside())

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self._loop.call_later(0.01, self._frames.put_nowait, None, context=outside())

    async def get(self) -> str | None:
        return await self._frames.get()


class Line:
    """A connection between a worker and a server."""

    def __init__(self, network: Network, loop: VirtualLoop) -> None:
        self.up = Stream(network, loop)
        self.down = Stream(network, loop)
        self.heard_at = loop.time()

    def close(self) -> None:
        self.up.close()
        self.down.close()


class WorkerEnd:
    """The worker's socket."""

    def __init__(self, line: Line, worker: str, server: str) -> None:
        self._line = line
        self._names = (worker, server)

    async def send(self, frame: str) -> None:
        if self._line.up.closed:
            raise Closed("cut")
        self._line.up.put(*self._names, frame)

    async def receive(self) -> str | bytes:
        frame = await self._line.down.get()
        if frame is None:
            raise Closed("cut")
        return frame


class Lines:
    """Opens links to servers, and breaks those whose ends are gone."""

    def __init__(self, network: Network, loop: VirtualLoop) -> None:
        self._network = network
        self._loop = loop

    @asynccontextmanager
    async def dial(
        self, worker: str, mine: Process | None, server: str, app: Starlette, theirs: Process
    ) -> AsyncGenerator[Socket]:
        """A connection for as long as both processes live and frames can get through."""
        delay = self._network.delay_s(worker, server)
        await asyncio.sleep(0.05 if delay is None else delay)
        if delay is None or not theirs.alive:
            raise Closed("refused")
        line = Line(self._network, self._loop)
        theirs.spawn(self._serve(app, line, worker, server))
        self._watch(line, worker, mine, server, theirs)
        try:
            yield WorkerEnd(line, worker, server)
        finally:
            line.close()

    def _watch(
        self, line: Line, worker: str, mine: Process | None, server: str, theirs: Process
    ) -> None:
        """Look now and then whether both ends still hear each other."""

        def look() -> None:
            if line.up.closed:
                return
            now = self._loop.time()
            if not self._network.is_cut(worker, server):
                line.heard_at = now
            dead = not theirs.alive or (mine is not None and not mine.alive)
            if dead or now - line.heard_at > PATIENCE_S or self._network.breaks():
                line.close()
            else:
                self._loop.call_later(0.25, look, context=outside())

        self._loop.call_later(0.25, look, context=outside())

    async def _serve(self, app: Starlette, line: Line, worker: str, server: str) -> None:
        scope: dict[str, Any] = {
            "type": "websocket",
            "path": "/ws/worker",
            "raw_path": b"/ws/worker",
            "query_string": b"",
            "headers": HEADERS,
            "scheme": "ws",
            "server": ("localhost", 80),
            "client": ("127.0.0.1", 1),
            "root_path": "",
            "subprotocols": [],
            "state": {},
        }
        opening = [{"type": "websocket.connect"}]

        async def receive() -> Any:
            if opening:
                return opening.pop()
            frame = await line.up.get()
            if frame is None:
                return {"type": "websocket.disconnect", "code": 1006}
            return {"type": "websocket.receive", "text": frame}

        async def send(message: Any) -> None:
            if message["type"] == "websocket.close":
                line.close()
            elif message["type"] == "websocket.send" and not line.down.closed:
                line.down.put(server, worker, message["text"])

        await app(scope, receive, send)

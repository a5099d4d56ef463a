"""The HTTP side of a scripted model: `POST /v1/chat/completions`, and `GET /asked` for tests."""

import asyncio
import threading
from collections.abc import AsyncIterator
from types import TracebackType
from typing import Self

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from windlass.testing.loopback import free_port
from windlass.testing.models.answers import chunks, whole
from windlass.testing.models.script import Asked, Line, Script, read_request
from windlass.testing.threaded import ThreadedServer


class ScriptedModels:
    """A scripted model on a loopback port, in a thread of its own for as long as the block runs."""

    def __init__(self, script: Script, port: int = 0) -> None:
        self.script = script
        self.port = port or free_port()
        self.gone = threading.Event()
        """Set when a caller went away before it had its answer."""
        routes = [
            Route("/v1/chat/completions", self._complete, methods=["POST"]),
            Route("/asked", self._asked),
        ]
        app = Starlette(routes=routes)
        self._server = ThreadedServer(app, self.port, "scripted model")

    @property
    def url(self) -> str:
        """What `--base-url` takes."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def asked(self) -> list[Asked]:
        return list(self.script.asked)

    def serve(self) -> None:
        """Answer in this thread until a signal."""
        self._server.run()

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.stop(at_once=True)  # a line may wait for longer than anybody cares

    async def _complete(self, request: Request) -> Response:
        body = msgspec.json.decode(await request.body())
        asked = read_request(body)
        line = self.script.answer(asked)
        if line is None:
            return _json(400, _error(f"the script has no line left for {asked}"))
        if line.delay_s:
            await self._wait(request, line.delay_s)
        if line.status != 200:
            after = line.retry_after_s
            headers = {} if after is None else {"retry-after-ms": str(round(after * 1000))}
            return _json(line.status, _error(line.text or f"status {line.status}"), headers)
        number = len(self.script.asked)
        if body.get("stream"):
            events = _streamed(line, asked.model, number)
            return StreamingResponse(events, media_type="text/event-stream")
        return _json(200, whole(line, asked.model, number))

    async def _wait(self, request: Request, delay_s: float) -> None:
        loop = asyncio.get_running_loop()
        until = loop.time() + delay_s
        while loop.time() < until:
            if await request.is_disconnected():
                self.gone.set()
                return
            await asyncio.sleep(min(0.02, max(0.0, until - loop.time())))

    async def _asked(self, _request: Request) -> Response:
        return _json(200, self.script.asked)


async def _streamed(line: Line, model: str, number: int) -> AsyncIterator[bytes]:
    for chunk in chunks(line, model, number):
        yield chunk
        await asyncio.sleep(0)


def _json(status: int, value: object, headers: dict[str, str] | None = None) -> Response:
    body = msgspec.json.encode(value)
    return Response(body, status, headers, media_type="application/json")


def _error(message: str) -> dict[str, dict[str, str]]:
    return {"error": {"message": message, "type": "scripted"}}

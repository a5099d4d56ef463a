"""Commands in places, for as long as whoever ran them listens: answered at their end, or with what
they say as it comes.

The streamed form is asked for with `Accept: text/event-stream`. Its events are `out` and `err`,
each a piece of output, and at last `done` with what the plain form answers, or `error` with a
problem.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable

import anyio
import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from windlass.model.errors import Unavailable, WindlassError
from windlass.ports.env import Executed, OnOutput
from windlass.protocol.envs import EnvContent, EnvExecuted
from windlass.server.context import context_of
from windlass.server.event_stream import EventStream
from windlass.server.http import problem, reply
from windlass.server.waiting import hung_up

_KEEPALIVE_S = 10.0
_WAITING_MAX = 8
"""Pieces that wait to be sent; the command waits when there are more."""
Run = Callable[[OnOutput | None, asyncio.Event], Awaitable[Executed]]
"""Runs a command until its own end, or until the event says that nobody wants it any more."""


async def answer_with(request: Request, run: Run) -> Response:
    """What came of a command, in the form that was asked for."""
    if "text/event-stream" in request.headers.get("accept", ""):
        return EventStream(request, _events(run, context_of(request).stopping))
    gone = asyncio.Event()
    running = asyncio.ensure_future(run(None, gone))
    leaving = asyncio.ensure_future(hung_up(request))
    try:
        await asyncio.wait([running, leaving], return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            return reply(view_of(running.result()))
        gone.set()
        await asyncio.wait([running])
        raise ClientDisconnect
    finally:
        for task in (running, leaving):
            task.cancel()
        await asyncio.gather(running, leaving, return_exceptions=True)


def view_of(done: Executed) -> EnvExecuted:
    return EnvExecuted(**msgspec.structs.asdict(done))


async def _events(run: Run, stopping: asyncio.Event) -> AsyncGenerator[bytes]:
    said: asyncio.Queue[bytes | None] = asyncio.Queue(_WAITING_MAX)
    gone = asyncio.Event()
    running = asyncio.ensure_future(_run(run, said, gone))
    ending = asyncio.ensure_future(_end(stopping, gone))
    try:
        while True:
            try:
                async with asyncio.timeout(_KEEPALIVE_S):
                    event = await said.get()
            except TimeoutError:
                yield b": still here\n\n"
                continue
            if event is None:
                return
            yield event
    finally:
        gone.set()
        ending.cancel()
        # Waited for rather than cancelled, so that its end is still written down.
        with anyio.CancelScope(shield=True):
            while not running.done():
                _empty(said)
                await asyncio.wait([running], timeout=0.05)


async def _run(run: Run, said: asyncio.Queue[bytes | None], gone: asyncio.Event) -> None:
    async def hear(stream: str, data: bytes) -> None:
        await said.put(_event(stream, msgspec.json.encode(EnvContent(data=data))))

    try:
        done = await run(hear, gone)
        last = _event("done", msgspec.json.encode(view_of(done)))
    except WindlassError as error:
        told = Unavailable("this server stops; try again") if gone.is_set() else error
        last = _event("error", bytes(problem(told).body))
    await said.put(last)
    await said.put(None)


async def _end(stopping: asyncio.Event, gone: asyncio.Event) -> None:
    await stopping.wait()
    gone.set()


def _empty(said: asyncio.Queue[bytes | None]) -> None:
    while not said.empty():
        said.get_nowait()


def _event(name: str, data: bytes) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name.encode(), data)

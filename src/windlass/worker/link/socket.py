"""The socket under a link, as far as the worker needs one."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

import anyio
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from windlass.client.tls import why_unreachable
from windlass.protocol.link.envelope import FRAME_BYTES_MAX, GOING_AWAY
from windlass.worker.link.settings import LinkSettings

OPEN_S = 10.0
_LEAVE_S = 1.0


class Closed(Exception):
    """The connection is gone; the text is what the other end gave as its reason."""


class Socket(Protocol):
    """Frames out and in; `Closed` when there is nobody any more."""

    async def send(self, frame: str) -> None: ...

    async def receive(self) -> str | bytes: ...


Dial = Callable[[], AbstractAsyncContextManager[Socket]]
"""Opens a connection, or raises `Closed`."""


class WebSocket:
    """A real one."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection

    async def send(self, frame: str) -> None:
        try:
            await self._connection.send(frame)
        except ConnectionClosed as closed:
            raise Closed(_reason(closed)) from closed

    async def receive(self) -> str | bytes:
        try:
            return await self._connection.recv()
        except ConnectionClosed as closed:
            raise Closed(_reason(closed)) from closed


def dial(settings: LinkSettings) -> Dial:
    """How to reach the server the settings name."""

    @asynccontextmanager
    async def opened() -> AsyncGenerator[Socket]:
        try:
            connection = await connect(
                settings.url,
                max_size=FRAME_BYTES_MAX,
                compression=None,
                open_timeout=OPEN_S,
                ping_interval=20,
                ping_timeout=20,
                # The server is named outright; a proxy meant for the wide world is not asked.
                proxy=None,
                ssl=settings.ssl_context(),
            )
        except (OSError, TimeoutError, InvalidHandshake) as error:
            raise Closed(why_unreachable(error)) from error
        async with connection:
            try:
                yield WebSocket(connection)
            except asyncio.CancelledError:
                # Nobody ends a connection like this but a worker that goes for good.
                with anyio.move_on_after(_LEAVE_S, shield=True):
                    await connection.close(GOING_AWAY, "the worker has stopped")
                raise

    return opened


def _reason(closed: ConnectionClosed) -> str:
    return f"{closed.rcvd.code} {closed.rcvd.reason}" if closed.rcvd is not None else "cut"

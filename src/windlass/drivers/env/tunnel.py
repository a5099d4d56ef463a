"""The way of a DevTools client here to a browser on another machine, inside a channel."""

import asyncio
import contextlib

from windlass.drivers.env.exchange import SAID_MAX, Asked, Said
from windlass.drivers.env.remote_host import RemoteHost
from windlass.ports.env import MessageSocket, RuntimeAway, SocketEnded

_HANG_UP_S = 5.0
"""How long a host may take to let go of a browser."""


class Tunnel:
    """A DevTools client here, a browser there."""

    def __init__(self, host: RemoteHost, client: MessageSocket, revoked: asyncio.Event) -> None:
        self._host = host
        self._client = client
        self._revoked = revoked
        self._number = host.new_number()
        self._said: asyncio.Queue[str | None] = asyncio.Queue()

    async def run(self, kind: str, name: str, epoch: int) -> str:
        asked = Asked(self._number, kind, "serve", {"name": name, "epoch": epoch})
        talking = asyncio.create_task(self._host.talk(asked, self._hear))
        sides = [
            asyncio.create_task(self._up()),
            asyncio.create_task(self._down()),
            asyncio.create_task(self._revoked.wait()),
        ]
        try:
            await asyncio.wait([talking, *sides], return_when=asyncio.FIRST_COMPLETED)
            if talking.done():
                return talking.result()
            await self._host.send(Said(self._number))
            await asyncio.wait([talking], timeout=_HANG_UP_S)
            return "revoked" if self._revoked.is_set() else "client"
        finally:
            for task in (talking, *sides):
                task.cancel()
            await asyncio.gather(talking, *sides, return_exceptions=True)

    def _hear(self, text: str | None) -> None:
        # A client that does not read is hung up on, rather than what it is told piled up.
        behind = self._said.qsize() >= SAID_MAX
        self._said.put_nowait(None if behind else text)

    async def _up(self) -> None:
        with contextlib.suppress(SocketEnded, RuntimeAway):
            while True:
                text = await self._client.recv()
                told = text if isinstance(text, str) else text.decode(errors="replace")
                await self._host.send(Said(self._number, told))

    async def _down(self) -> None:
        with contextlib.suppress(SocketEnded):
            while (text := await self._said.get()) is not None:
                await self._client.send(text)

"""Messages of any length over a socket that bears only short frames: cut up, and put together."""

import asyncio

from windlass.drivers.env.exchange import MESSAGE_BYTES_MAX, Channel
from windlass.ports.env import SocketEnded

FRAME_BYTES = 512 * 1024
_MORE, _LAST = b"\1", b"\0"


class Framed:
    """A channel over frames. The pieces of one message follow each other; the first byte of each
    says whether there are more."""

    def __init__(self, socket: Channel) -> None:
        self._socket = socket
        self._sending = asyncio.Lock()

    async def send(self, message: bytes) -> None:
        async with self._sending:
            for start in range(0, max(1, len(message)), FRAME_BYTES):
                end = start + FRAME_BYTES
                mark = _LAST if end >= len(message) else _MORE
                await self._socket.send(mark + message[start:end])

    async def recv(self) -> bytes:
        pieces: list[bytes] = []
        size = 0
        while True:
            frame = await self._socket.recv()
            pieces.append(frame[1:])
            size += len(frame)
            if frame[:1] == _LAST:
                return b"".join(pieces)
            if size > MESSAGE_BYTES_MAX or frame[:1] != _MORE:
                raise SocketEnded("what the other end says makes no sense")

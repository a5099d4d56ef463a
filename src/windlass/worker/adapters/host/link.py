"""The host's end of the link to its worker: messages in, messages out, many in one write."""

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable
from typing import Any

from windlass.worker.adapters.host.frames import Unpacker, framed
from windlass.worker.adapters.host.text import encoded

PENDING_BYTES_MAX = 32 << 20
"""Feedback is left out while more than this waits to be read by the worker; results never are."""


class Link(asyncio.Protocol):
    """Belongs to the loop; `post` may be called from any thread."""

    def __init__(self, receive: Callable[[dict[str, Any]], None], lost: Callable[[], None]) -> None:
        self._receive = receive
        self._lost = lost
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._unpacker = Unpacker()
        self._transport: asyncio.Transport | None = None
        self._out: list[bytes] = []
        self._pending = 0
        self._room = asyncio.Event()
        self._room.set()
        self.left_out = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.set_write_buffer_limits(high=1 << 20)
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        self._room.set()
        self._lost()

    def pause_writing(self) -> None:
        self._room.clear()

    def resume_writing(self) -> None:
        self._room.set()

    def data_received(self, data: bytes) -> None:
        for body in self._unpacker.feed(data):
            self._receive(json.loads(body))

    def post(self, message: dict[str, Any], *, may_drop: bool = False) -> None:
        """Send a message soon, in the order of the calls of one thread."""
        self.post_frame(framed(encoded(message)), may_drop=may_drop)

    def post_frame(self, frame: bytes, *, may_drop: bool = False) -> None:
        if threading.get_ident() != self._thread:
            self._loop.call_soon_threadsafe(self._queue, frame, may_drop)
        else:
            self._queue(frame, may_drop)

    def drained(self) -> Callable[[], Awaitable[None]] | None:
        """What to await for room; nothing outside the loop."""
        if threading.get_ident() != self._thread or self._room.is_set():
            return None
        return self._wait

    async def _wait(self) -> None:
        await self._room.wait()

    def _queue(self, frame: bytes, may_drop: bool) -> None:
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        waiting = self._pending + transport.get_write_buffer_size()
        if may_drop and waiting > PENDING_BYTES_MAX:
            self.left_out += 1
            return
        if not self._out:
            # One write for everything that is said in this turn of the loop.
            self._loop.call_soon(self._flush)
        self._out.append(frame)
        self._pending += len(frame)

    def _flush(self) -> None:
        out, self._out = self._out, []
        self._pending = 0
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(b"".join(out))

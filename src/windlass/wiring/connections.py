"""HTTP connections that cannot be used up by whoever says nothing.

A request must have all its headers within a deadline and a size, and there are only so many
connections at once. When one more comes, the oldest that has not asked for anything makes room; a
caller who has is never cut off for a newcomer.
"""

import asyncio
import resource
from collections import OrderedDict
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from windlass.wiring.peers import with_peer

_HEAD_BYTES_MAX = 256 * 1024
"""What may arrive before a head is whole: no head needs as much, though the first bytes of a body
may come along with it."""
_KEPT_FILES = 200
"""Open files for the database, blobs, scripts and whatever else is no caller's connection."""


class Waiting:
    """The connections of one server that have not sent a whole head yet, oldest first."""

    def __init__(self, connections_max: int, head_s: float) -> None:
        self.connections_max = connections_max
        self.head_s = head_s
        self.all: OrderedDict[BoundedHttp, None] = OrderedDict()


class BoundedHttp(HttpToolsProtocol):
    """One connection; `bounded` makes the class for a server's own limits."""

    waiting: Waiting
    _deadline: asyncio.TimerHandle | None = None
    _head_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.app_state = with_peer(self.app_state, transport)
        super().connection_made(transport)
        self._expect_head()
        if len(self.connections) > self.waiting.connections_max:
            oldest = next(iter(self.waiting.all), self)
            oldest.drop()

    def connection_lost(self, exc: Exception | None) -> None:
        self._heard_head()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._deadline is not None:
            self._head_bytes += len(data)
            if self._head_bytes > _HEAD_BYTES_MAX:
                self.send_400_response("The head of the request is too large.")
                return
        super().data_received(data)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        if self._deadline is None:
            self._expect_head()

    def on_headers_complete(self) -> None:
        self._heard_head()
        super().on_headers_complete()

    def drop(self) -> None:
        self._heard_head()
        if not self.transport.is_closing():
            self.transport.abort()

    def _expect_head(self) -> None:
        self._head_bytes = 0
        self._deadline = self.loop.call_later(self.waiting.head_s, self.drop)
        self.waiting.all[self] = None

    def _heard_head(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        self.waiting.all.pop(self, None)


def bounded(connections_max: int, head_s: float) -> type[asyncio.Protocol]:
    """The protocol of a server with these limits; as many files may be open as that takes."""
    waiting = Waiting(min(connections_max, _room_for_files(connections_max)), head_s)
    members: dict[str, Any] = {"waiting": waiting}
    return type("ServerHttp", (BoundedHttp,), members)


def _room_for_files(wanted: int) -> int:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = wanted + _KEPT_FILES
    if soft < most:
        soft = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return max(16, soft - _KEPT_FILES)

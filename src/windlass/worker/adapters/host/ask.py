"""Questions to the worker that a plain function may put and wait for."""

import json
import socket
import threading
from typing import Any

from windlass.worker.adapters.host.frames import HEAD_BYTES, framed
from windlass.worker.adapters.host.text import encoded

ANSWER_S_MAX = 30.0


class Refused(Exception):
    """The worker said no; the message is its reason."""


class Ask:
    """One question at a time over a socket of its own, so that the loop need not take part."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(True)
        sock.settimeout(ANSWER_S_MAX)
        self._sock = sock
        self._lock = threading.Lock()

    def __call__(self, op: str, **fields: Any) -> Any:
        body = encoded({"op": op, **fields})
        with self._lock:
            self._sock.sendall(framed(body))
            answer = json.loads(self._exactly(int.from_bytes(self._exactly(HEAD_BYTES), "big")))
        match answer:
            case {"value": value}:
                return value
            case {"missing": reason}:
                raise KeyError(reason)
            case _:
                raise Refused(answer.get("error", "no reason given"))

    def _exactly(self, count: int) -> bytes:
        parts: list[bytes] = []
        while count:
            part = self._sock.recv(min(count, 1 << 20))
            if not part:
                raise ConnectionError("the worker is gone")
            parts.append(part)
            count -= len(part)
        return b"".join(parts)

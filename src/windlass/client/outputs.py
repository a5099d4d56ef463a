"""Reads what a command says from the server-sent events of its answer."""

from collections.abc import Callable, Iterator

import msgspec

from windlass.client.problems import ServerError, error_of

Hear = Callable[[str, bytes], object]
"""Is given each piece of output: the stream, `out` or `err`, and what was said."""


class Said(msgspec.Struct, frozen=True):
    data: bytes


class _Problem(msgspec.Struct, frozen=True):
    status: int = 500


class OutputReader:
    """Takes bytes as they come, and keeps what the last event says."""

    def __init__(self, hear: Hear) -> None:
        self._hear = hear
        self._waiting = bytearray()
        self._result: bytes | None = None

    def feed(self, piece: bytes) -> None:
        """Pass on what is said; raises the error that the answer ends with, if it does."""
        for event in self._events(piece):
            fields = dict(line.split(b": ", 1) for line in event.split(b"\n") if b": " in line)
            name, data = fields.get(b"event", b"").decode(), fields.get(b"data", b"")
            if name in ("out", "err"):
                self._hear(name, msgspec.json.decode(data, type=Said).data)
            elif name == "done":
                self._result = data
            elif name == "error":
                raise error_of(msgspec.json.decode(data, type=_Problem).status, data)

    def result(self) -> bytes:
        """What came of it."""
        if self._result is None:
            raise ServerError("the connection ended before the command did")
        return self._result

    def _events(self, piece: bytes) -> Iterator[bytes]:
        looked = max(0, len(self._waiting) - 1)
        self._waiting += piece
        while (end := self._waiting.find(b"\n\n", looked)) >= 0:
            event = bytes(self._waiting[:end])
            del self._waiting[: end + 2]
            looked = 0
            yield event

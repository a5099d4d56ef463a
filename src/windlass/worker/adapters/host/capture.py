"""What handlers print or log: told as feedback of their call, if it can be told whose it is."""

import contextvars
import io
import logging
import sys
from typing import Protocol

PENDING_CHARS_MAX = 256 * 1024


class Listener(Protocol):
    """A call that is told what its handler writes."""

    def wrote(self, channel: str, text: str, level: str = "") -> None: ...


current: contextvars.ContextVar[Listener | None] = contextvars.ContextVar("call", default=None)
"""The call whose handler runs here; threads and tasks that it starts inherit it."""


class Stream(io.TextIOBase):
    """A standard stream that gives each call its own text, and the rest to the process's stream."""

    def __init__(self, channel: str, real: io.TextIOBase) -> None:
        self._channel = channel
        self._real = real

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        listener = current.get()
        if listener is None:
            return self._real.write(text)
        listener.wrote(self._channel, text)
        return len(text)

    def flush(self) -> None:
        if current.get() is None:
            self._real.flush()

    def fileno(self) -> int:
        return self._real.fileno()


class LogHandler(logging.Handler):
    """Log records as feedback of the call that made them."""

    def emit(self, record: logging.LogRecord) -> None:
        listener = current.get()
        text = self.format(record) + "\n"
        if listener is not None:
            listener.wrote("log", text, level_of(record.levelno))
        elif sys.__stderr__ is not None:
            sys.__stderr__.write(text)


def level_of(number: int) -> str:
    """The name of the level that a record has, or is nearest below."""
    if number < logging.INFO:
        return "debug"
    return logging.getLevelName(min(number // 10 * 10, logging.CRITICAL)).lower()


def install() -> None:
    """Put our streams in the place of the process's."""
    for name in ("stdout", "stderr"):
        real = getattr(sys, f"__{name}__")
        setattr(sys, name, Stream(name, real))
    handler = LogHandler()
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler])

"""What a service logs, told while it runs."""

import asyncio
from collections.abc import Callable
from typing import Any

from windlass.worker.context import Context
from windlass.worker.records import Record

GATHER_S = 0.2
"""How long lines gather before they are told: a loop that logs is not a frame for every line."""


class LiveLog:
    """Follows the log of one attempt from now on. Belongs to one event loop."""

    def __init__(self, context: Context, feedback: Callable[[dict[str, Any]], None]) -> None:
        self._context = context
        self._feedback = feedback
        self._loop = asyncio.get_running_loop()
        self._soon: asyncio.TimerHandle | None = None
        context.on_log(lambda: self._loop.call_soon_threadsafe(self._wrote))

    def close(self) -> None:
        """Tell the rest, ahead of the result."""
        self._context.on_log(None)
        if self._soon is not None:
            self._soon.cancel()
        self._tell()

    def _wrote(self) -> None:
        if self._soon is None:
            self._soon = self._loop.call_later(GATHER_S, self._tell)

    def _tell(self) -> None:
        self._soon = None
        records = self._context.records(self._context.told)
        if records:
            self._context.told = records[-1].end + 1
            self._feedback({"chunks": [chunk_of(record) for record in records]})


def chunk_of(record: Record) -> dict[str, Any]:
    """A record as a piece of feedback, which says its level or that it is one."""
    chunk: dict[str, Any] = {"channel": "log", "text": f"{record.text}\n"}
    known = record.level or "\n" in record.text
    return {**chunk, "metadata": {"level": record.level}} if known else chunk

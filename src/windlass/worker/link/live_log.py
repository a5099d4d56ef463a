"""What a service logs, told while it runs."""

import asyncio
from collections.abc import Callable
from typing import Any

from windlass.worker.context import Context

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
        text = self._context.log_text
        piece, self._context.told = text[self._context.told :], len(text)
        if piece:
            lines = piece.removeprefix("\n")
            self._feedback({"chunks": [{"channel": "log", "text": f"{lines}\n"}]})

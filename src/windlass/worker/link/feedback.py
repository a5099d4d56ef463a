"""Feedback that waits for room on the link: a bounded part of it, the newest.

A handler may say more than the line takes, or say it while the line is cut. Feedback waits here,
beside the window, so that no report of another task stands behind it.
"""

import logging
from collections.abc import Callable

from windlass.protocol.link import messages as m
from windlass.protocol.link.envelope import encode

log = logging.getLogger(__name__)

FRAMES_MAX = 256
BYTES_MAX = 8 << 20


class FeedbackQueue:
    """Feedback in the order it was given. Belongs to one event loop."""

    def __init__(self, has_room: Callable[[], bool], send: Callable[[m.Feedback], object]) -> None:
        self._has_room = has_room
        self._send = send
        self._waiting: list[tuple[m.Feedback, int]] = []
        self._bytes = 0
        self._dropping = False

    def give(self, message: m.Feedback) -> None:
        """Send feedback, or keep it until there is room."""
        if not self._waiting and self._has_room():
            self._send(message)
            return
        size = len(encode(message))
        self._waiting.append((message, size))
        self._bytes += size
        while len(self._waiting) > FRAMES_MAX or self._bytes > BYTES_MAX:
            self._drop()
        self.flush()

    def flush(self) -> None:
        """Send what there is room for."""
        while self._waiting and self._has_room():
            self._send(self._take(0))
        self._dropping = self._dropping and bool(self._waiting)

    def flush_task(self, task_id: str) -> None:
        """Send all of a task's feedback: its report comes next, and nothing counts after that."""
        own = [i for i, (message, _) in enumerate(self._waiting) if message.task_id == task_id]
        for done, index in enumerate(own):
            self._send(self._take(index - done))

    def _drop(self) -> None:
        """Let go of the oldest word on progress, which newer ones replace; else of the oldest."""
        if not self._dropping:
            self._dropping = True
            log.warning("handlers say more than the link takes; the oldest feedback is dropped")
        older = self._waiting[:-1]
        self._take(next((i for i, (message, _) in enumerate(older) if _is_progress(message)), 0))

    def _take(self, index: int) -> m.Feedback:
        message, size = self._waiting.pop(index)
        self._bytes -= size
        return message


def _is_progress(message: m.Feedback) -> bool:
    return not message.chunks and not message.metadata

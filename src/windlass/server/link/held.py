"""What a worker holds, as its session remembers it."""

import asyncio


class Held:
    """An attempt that was sent to the worker."""

    __slots__ = (
        "acked",
        "at",
        "attempt_id",
        "inherited",
        "node_type",
        "parked",
        "run_id",
        "stopped",
        "timer",
        "unread",
    )

    def __init__(self, attempt_id: str, run_id: str, node_type: str, at: float) -> None:
        self.attempt_id = attempt_id
        self.run_id = run_id
        self.node_type = node_type
        self.at = at
        self.acked = False
        self.stopped = False
        """It was asked to stop, or lost its lease; only its slot is still of interest."""
        self.inherited = False
        """It was sent before this session began; the worker may know nothing of it any more."""
        self.parked = 0
        """Calls to the rest of its chain that it waits for; meanwhile it needs no slot."""
        self.unread = 0
        """Frames the worker sent while it had this that nobody could read."""
        self.timer: asyncio.TimerHandle | None = None

    def forget_timer(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None


def dispatch_id(attempt_id: str) -> str:
    """The envelope of a dispatch, derived from its attempt so that nothing need remember it."""
    return f"d-{attempt_id}"


def attempt_of(frame_id: str) -> str:
    return frame_id.removeprefix("d-")

"""Installing: what became of packages that workers were told to install, for whoever asks why.

Only the process that told a worker knows; it is not kept.
"""

import msgspec


class Installing(msgspec.Struct, frozen=True):
    """A worker was told to install a version."""

    worker_id: str
    asked_at: int
    """Unix milliseconds, database time."""
    error: str | None = None
    """What it answered, if it could not."""

    def line(self, now: int) -> str:
        if self.error is not None:
            return f"worker {self.worker_id} could not install it: {self.error}"
        since = f"{(now - self.asked_at) / 1000:.0f} s ago"
        return f"worker {self.worker_id} was told {since} to install it"

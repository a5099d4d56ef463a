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

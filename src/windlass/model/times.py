"""Moments as text."""

from datetime import UTC, datetime


def iso(unix_ms: int) -> str:
    """A moment of the database's time, in UTC to the millisecond."""
    moment = datetime.fromtimestamp(unix_ms / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")

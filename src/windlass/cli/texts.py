"""Small texts: states with their icons, times, spans, ids short enough to read and type."""

import time
from collections.abc import Iterable
from itertools import pairwise

from windlass.model.ids import as_written

ICONS = {
    "succeeded": ("✓", "green"),
    "succeeded with failures": ("!", "yellow"),
    "failed": ("✗", "red"),
    "timed_out": ("✗", "red"),
    "lost": ("✗", "yellow"),
    "running": ("▶", "blue"),
    "claimed": ("▶", "blue"),
    "verifying": ("▶", "blue"),
    "waiting": ("⏸", "yellow"),
    "queued": ("○", "cyan"),
    "pending": ("○", "dim"),
    "cancelling": ("⊘", "yellow"),
    "cancelled": ("⊘", "dim"),
    "skipped": ("⊘", "dim"),
    "superseded": ("⊘", "dim"),
    "online": ("●", "green"),
    "late": ("●", "yellow"),
    "offline": ("●", "red"),
    "open": ("⏸", "yellow"),
    "resolved": ("✓", "green"),
    "expired": ("⊘", "yellow"),
}

SHORT_ID = 13
"""So much of a run's id is its millisecond: enough to tell runs apart that people started."""


def state_text(state: str) -> str:
    """A state with its icon: never by colour alone."""
    return f"{icon_of(state)} {state}"


def icon_of(state: str) -> str:
    return ICONS.get(state, ("·", ""))[0]


def style_of(state: str) -> str:
    return ICONS.get(state, ("", ""))[1]


def short_ids(ids: Iterable[str]) -> dict[str, str]:
    """Each id's beginning, long enough to be told from the others."""
    unique = sorted(set(ids))
    length = SHORT_ID
    for one, next_one in pairwise(unique):
        length = max(length, _shared(one, next_one) + 1)
    return {found: found[:length].rstrip("-") for found in unique}


def _shared(one: str, other: str) -> int:
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), len(one))


def place_of(task_id: str) -> str:
    """A task's place inside its run: `double.2~1`."""
    return task_id.partition("~")[2] or task_id


def written_place(task_id: str) -> str:
    """The same as people wrote its nodes; what parts them is kept apart from what is in a name."""
    parts = place_of(task_id).split("~")
    return "~".join(as_written(part).replace("~", "%7E") for part in parts)


def question_place(checkpoint_id: str) -> str:
    """A checkpoint's place without its `!0`, which a shell takes for a line of its history."""
    return place_of(checkpoint_id).partition("!")[0]


def now_ms() -> int:
    return round(time.time() * 1000)


def ago(unix_ms: int) -> str:
    """How long ago, or in how long, in the largest unit that fits."""
    seconds = (now_ms() - unix_ms) / 1000
    if abs(seconds) < 1:
        return "now"
    units = (("d", 86400), ("h", 3600), ("m", 60), ("s", 1))
    unit, size = next(found for found in units if abs(seconds) >= found[1])
    span = f"{abs(seconds) // size:.0f} {unit}"
    return f"{span} ago" if seconds >= 0 else f"in {span}"


def took(started_at: int | None, finished_at: int | None) -> str:
    """How long something took, or has been under way."""
    if started_at is None:
        return ""
    return span_text(max(0, (finished_at or now_ms()) - started_at) / 1000)


def span_text(seconds: float) -> str:
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= size:
            return f"{seconds / size:.0f}{unit}" if seconds >= 10 * size else _two(seconds, size)
    return f"{seconds:.1f}s" if seconds < 10 else f"{seconds:.0f}s"


def _two(seconds: float, size: int) -> str:
    smaller = {86400: (3600, "h"), 3600: (60, "m"), 60: (1, "s")}[size]
    unit = {86400: "d", 3600: "h", 60: "m"}[size]
    whole, rest = divmod(seconds, size)
    return f"{whole:.0f}{unit}{rest // smaller[0]:.0f}{smaller[1]}"


def first_line(text: str) -> str:
    return text.strip().partition("\n")[0]

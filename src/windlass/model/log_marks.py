"""Marks: what is known of pieces of a log's text, which is kept as it came.

Only what was logged with a level, or in more than one line, has a mark. The rest is lines, and
nothing is known of them.
"""

from collections.abc import Iterable

import msgspec

from windlass.model.ids import run_of
from windlass.model.rows import Json, LogChunk

LEVELS = ("debug", "info", "warning", "error", "critical")
"""From the least serious to the most."""
_OTHER_WORDS = {"warn": "warning", "err": "error", "fatal": "critical", "trace": "debug"}
RESULT_MARKS = -2
"""Where marks of a log that came with a result stand: before all that was said."""
_MARKS_MAX = 2_000
"""Of one text; what is behind them is lines."""


class LogMark(msgspec.Struct, frozen=True, array_like=True):
    """A stretch of a text that was logged at once."""

    start: int
    length: int
    level: str = ""
    """One of `LEVELS`, or empty where that was not said."""


def level_named(word: str) -> str:
    """The level that a word means; empty if it means none."""
    low = word.strip().lower()
    level = _OTHER_WORDS.get(low, low)
    return level if level in LEVELS else ""


def kept_marks(marks: Iterable[LogMark], chars: int) -> Json:
    """Marks of a text of so many characters as they are stored; those that cannot be meant are
    left out."""
    kept: list[LogMark] = []
    end = 0
    for mark in marks:
        if len(kept) == _MARKS_MAX:
            break
        if end <= mark.start and 0 < mark.length <= chars - mark.start:
            kept.append(LogMark(mark.start, mark.length, level_named(mark.level)))
            end = mark.start + mark.length
    return msgspec.json.encode(kept).decode() if kept else ""


def marks_in(value: object) -> list[LogMark]:
    """Marks as a stranger gives them; none if they are no marks."""
    try:
        return msgspec.convert(value or [], list[LogMark])
    except msgspec.ValidationError:
        return []


def read_marks(text: Json) -> list[LogMark]:
    return msgspec.json.decode(text, type=list[LogMark]) if text else []


def result_marks(attempt_id: str, marks: Json, at: int) -> LogChunk:
    """What is known of the log that came with an attempt's result, which stands on the attempt."""
    return LogChunk(
        attempt_id=attempt_id,
        number=RESULT_MARKS,
        run_id=run_of(attempt_id),
        channel="marks",
        text="",
        at=at,
        marks=marks,
    )

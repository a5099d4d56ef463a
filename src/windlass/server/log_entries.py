"""Entries: the texts that were logged, record by record or line by line."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from windlass.model.log_marks import LEVELS, LogMark

_ERROR = re.compile(r"\b(ERROR|CRITICAL|FATAL|PANIC|Traceback|[A-Z]\w*(Error|Exception))\b")
_WARNING = re.compile(r"\bWARN(ING)?\b", re.IGNORECASE)
_GUESSED_CHARS_MAX = 2_000
_COLOURS = re.compile("\x1b\\[[0-9;]*[A-Za-z]")
"""What programs write into their texts for terminals."""


class LogEntry(NamedTuple):
    """A stretch of a text: one record, or a line of which nothing is known."""

    start: int
    end: int
    text: str
    level: str

    @property
    def plain(self) -> str:
        """The text without its colours."""
        return _COLOURS.sub("", self.text) if "\x1b" in self.text else self.text

    @property
    def guess(self) -> str:
        """How serious it reads, where nobody has said how serious it is. Programs write as they
        like: a word that all loggers have tells."""
        begin = self.plain[:_GUESSED_CHARS_MAX]
        if self.level:
            return ""
        return "error" if _ERROR.search(begin) else "warning" if _WARNING.search(begin) else ""


def entries_of(text: str, marks: Sequence[LogMark], begin: int = 0) -> Iterator[LogEntry]:
    """The entries of a text in order, from a character on. Lines with nothing in them are none."""
    done = begin
    for mark in marks:
        if mark.start < begin:
            continue
        yield from _lines(text, done, mark.start)
        done = mark.start + mark.length
        record = text[mark.start : done].strip("\r\n")
        if record.strip():
            yield LogEntry(mark.start, done, record, mark.level)
    yield from _lines(text, done, len(text))


def _lines(text: str, start: int, end: int) -> Iterator[LogEntry]:
    while start < end:
        found = text.find("\n", start, end)
        stop = end if found < 0 else found + 1
        line = text[start:stop].rstrip("\r\n")
        if line.strip():
            yield LogEntry(start, stop, line, "")
        start = stop


def at_least(level: str, wanted: str) -> bool:
    """Whether one level is as serious as another; what has none is not."""
    return bool(level) and LEVELS.index(level) >= LEVELS.index(wanted)

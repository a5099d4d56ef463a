"""Records: what a handler logs, one by one, with when and how seriously."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from windlass.model.log_marks import LogMark

TOGETHER_S = 0.25
"""What is logged within so long is told as one piece, with one time."""


class Record(NamedTuple):
    """What was logged at once."""

    start: int
    """Where it begins in the attempt's log."""
    text: str
    level: str
    at: float
    """When, by the attempt's clock."""

    @property
    def end(self) -> int:
        return self.start + len(self.text)


def marks_of(records: Iterable[Record], offset: int = 0) -> list[LogMark]:
    """What lines alone would not tell of some records, in a text that begins at `offset`."""
    return [
        LogMark(record.start - offset, len(record.text), record.level)
        for record in records
        if record.text and (record.level or "\n" in record.text)
    ]


def together(records: Sequence[Record], within_s: float) -> list[list[Record]]:
    """Records in groups of about the same time."""
    groups: list[list[Record]] = []
    for record in records:
        if groups and record.at - groups[-1][0].at < within_s:
            groups[-1].append(record)
        else:
            groups.append([record])
    return groups

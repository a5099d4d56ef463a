"""The named queries for logs, over rows in memory."""

from collections.abc import Iterator, Sequence
from typing import Any

from windlass.model.rows import Attempt, LogChunk
from windlass.testing.memory.database import MemoryDatabase

_COLUMNS = ("at", "attempt_id", "number", "size", "said")
_RESULT = 2**63 - 1


def log_pieces_after(
    db: MemoryDatabase, at: int, attempt_id: str, number: int, count_max: int, **asked: Any
) -> list[dict[str, Any]]:
    place = (at, attempt_id, number)
    found = sorted(piece for piece in _pieces(db, **asked) if piece[:3] >= place)
    return [dict(zip(_COLUMNS, piece, strict=True)) for piece in found[:count_max]]


def log_pieces_before(
    db: MemoryDatabase, at: int, attempt_id: str, number: int, count_max: int, **asked: Any
) -> list[dict[str, Any]]:
    place = (at, attempt_id, number)
    found = sorted((p for p in _pieces(db, **asked) if p[:3] <= place), reverse=True)
    return [dict(zip(_COLUMNS, piece, strict=True)) for piece in found[:count_max]]


def _pieces(
    db: MemoryDatabase, *, run_id: str, channels: Sequence[str], low: str, high: str, **_: Any
) -> Iterator[tuple[int, str, int, int, int | None]]:
    last: dict[str, int] = {}
    for row in db.table(LogChunk).values():
        if row.run_id != run_id or not low <= row.attempt_id <= high:
            continue
        if row.channel == "log":
            last[row.attempt_id] = max(row.number, last.get(row.attempt_id, row.number))
        if row.channel in channels:
            yield row.at, row.attempt_id, row.number, len(row.text), row.number
    for attempt in db.table(Attempt).values() if "log" in channels else ():
        meant = attempt.run_id == run_id and low <= attempt.id <= high
        if meant and attempt.log is not None and attempt.finished_at is not None:
            size = len(attempt.log)
            yield attempt.finished_at, attempt.id, _RESULT, size, last.get(attempt.id)

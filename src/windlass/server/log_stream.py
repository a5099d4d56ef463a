"""The logs of a run as one stream: what its attempts said, in the order of time.

There are two sources: chunks, which are kept while attempts run, and logs that came with their
results. The latter repeat the former, except on the link, so only what goes beyond the last chunk
is new. Both are looked through without their texts; the texts of one page are then read at once.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from windlass.engine.engine import Engine
from windlass.model.log_marks import RESULT_MARKS, LogMark, read_marks
from windlass.model.queues import is_link
from windlass.model.rows import Attempt, LogChunk
from windlass.protocol.logs_api import LogPage, LogView
from windlass.server.log_cursor import (
    FIRST,
    LAST,
    RESULT,
    LogCursor,
    LogPosition,
    Read,
    cursor_behind,
)
from windlass.server.log_entries import LogEntry, at_least, entries_of

_PIECES = 100
"""Pieces that are looked at together."""
_CHARS_MAX = 256_000
"""Of the texts of one page, but for its last entry."""
_LOOKED_CHARS_MAX = 4_000_000
"""What is looked through for one page: a filter that finds little gives small pages."""
_LOOKS_MAX = 40


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """Which entries are meant."""

    low: str
    high: str
    """The first and the last id of attempts that are meant."""
    number: int | None = None
    """Only attempts with this number."""
    level: str = ""
    """At least so serious, as they say or, where they do not say, as they read."""
    text: str = ""
    """Only with this in it, in lower case."""
    channels: Sequence[str] = ()

    def has(self, entry: LogEntry) -> bool:
        serious = not self.level or at_least(entry.level or entry.guess, self.level)
        return serious and self.text in entry.plain.lower()

    def of(self, attempt_id: str) -> bool:
        return self.number is None or attempt_id.endswith(f"@{self.number}")


class Piece(NamedTuple):
    """A piece of the stream without its text."""

    place: LogPosition
    size: int
    said: int | None
    """The number of the last chunk before it."""


class Text(NamedTuple):
    """The text of a piece, from which character on it is new, and what is known of it."""

    channel: str = ""
    text: str = ""
    begin: int = 0
    marks: Sequence[LogMark] = ()


class LogReader:
    """Reads one page of a run's logs."""

    def __init__(self, engine: Engine, run_id: str, wanted: Wanted, cursor: LogCursor) -> None:
        self._engine = engine
        self._run_id = run_id
        self._wanted = wanted
        self._cursor = cursor
        self._read: list[Read] = []
        self._items: list[LogView] = []
        self._chars = 0
        self._looked = 0

    async def page(self, limit: int) -> LogPage:
        """Up to so many entries, oldest first also where they are read backwards."""
        now = self._engine.store.now()
        place, more = self._cursor.place, True
        for _ in range(_LOOKS_MAX):
            pieces = await self._look(place)
            found = pieces[1:] if self._read and pieces and pieces[0].place == place else pieces
            cut = await self._take(found, limit)
            more = cut or len(pieces) == _PIECES
            if not more or cut or self._looked > _LOOKED_CHARS_MAX:
                break
            place = pieces[-1].place
        return self._answer(now, more=more)

    def _answer(self, now: int, *, more: bool) -> LogPage:
        if not self._cursor.backwards:
            here = cursor_behind(self._read, now, self._cursor).text()
            return LogPage(items=self._items, next=here if more else None, position=here)
        older = self._cursor
        if self._read:
            older = LogCursor(self._read[-1].place, self._read[-1].end, {}, backwards=True)
        position = None
        if self._cursor.place == LAST:
            # What is older is for the pages before: whoever goes on from here has seen all of it.
            whole = [Read(piece.place, RESULT) for piece in reversed(self._read)]
            begin = LogCursor(whole[0].place if whole else FIRST, 0)
            position = cursor_behind(whole, now, begin).text()
        return LogPage(
            items=self._items[::-1], next=older.text() if more else None, position=position
        )

    async def _look(self, place: LogPosition) -> list[Piece]:
        backwards = self._cursor.backwards
        rows = await self._engine.store.query(
            "log_pieces_before" if backwards else "log_pieces_after",
            run_id=self._run_id,
            channels=list(self._wanted.channels),
            at=place.at,
            attempt_id=place.attempt_id,
            number=place.number,
            low=self._wanted.low,
            high=self._wanted.high,
            count_max=_PIECES,
        )
        return [
            Piece(
                LogPosition(row["at"], row["attempt_id"], row["number"]), row["size"], row["said"]
            )
            for row in rows
        ]

    async def _take(self, pieces: Sequence[Piece], limit: int) -> bool:
        """Take entries of some pieces; whether the page was full before their end."""
        todo = pieces
        while todo:
            some = todo[: self._affordable(todo)]
            texts = await self._texts([piece for piece in some if self._has_more(piece)])
            for piece in some:
                if self._full(limit):
                    return True
                if not self._entries(piece, texts.get(piece.place, Text()), limit):
                    return True
            todo = todo[len(some) :]
            if todo and self._looked > _LOOKED_CHARS_MAX:
                return True
        return False

    def _has_more(self, piece: Piece) -> bool:
        """Whether there may be something in a piece that is wanted and was not read before."""
        if not self._wanted.of(piece.place.attempt_id):
            return False
        return self._cursor.backwards or self._cursor.begin_in(piece.place) < piece.size

    def _affordable(self, pieces: Sequence[Piece]) -> int:
        """How many of them to read at once: at least one, and no more than a page's worth."""
        chars = 0
        for count, piece in enumerate(pieces):
            chars += piece.size
            if chars > _CHARS_MAX:
                return max(1, count)
        return len(pieces)

    def _full(self, limit: int) -> bool:
        return len(self._items) >= limit or self._chars >= _CHARS_MAX

    def _entries(self, piece: Piece, found: Text, limit: int) -> bool:
        """Take what is wanted of one piece; false if the page was full before its end."""
        self._looked += len(found.text)
        backwards = self._cursor.backwards
        for entry in self._unread(piece.place, found):
            if self._full(limit):
                return False
            self._note(piece.place, entry.start if backwards else entry.end)
            if self._wanted.has(entry):
                self._items.append(view(piece.place, found.channel, entry))
                self._chars += len(entry.text)
        whole = max(len(found.text), piece.size, self._cursor.begin_in(piece.place))
        self._note(piece.place, 0 if backwards else whole)
        return True

    def _note(self, place: LogPosition, end: int) -> None:
        if self._read and self._read[-1].place == place:
            self._read.pop()
        self._read.append(Read(place, end))

    def _unread(self, place: LogPosition, found: Text) -> Iterator[LogEntry]:
        entries = list(entries_of(found.text, found.marks, found.begin))
        if not self._cursor.backwards:
            begin = self._cursor.begin_in(place)
            return (entry for entry in entries if entry.start >= begin)
        before = self._cursor.offset if place == self._cursor.place else RESULT
        return (entry for entry in reversed(entries) if entry.start < before)

    async def _texts(self, pieces: Sequence[Piece]) -> dict[LogPosition, Text]:
        results = [piece for piece in pieces if piece.place.number == RESULT]
        keys = {(p.place.attempt_id, p.place.number) for p in pieces if p.place.number != RESULT}
        ids = [piece.place.attempt_id for piece in results]
        keys |= {(id_, RESULT_MARKS) for id_ in ids}
        keys |= {(p.place.attempt_id, p.said) for p in results if p.said is not None}
        async with self._engine.store.session() as session:
            rows = await session.rows(LogChunk, sorted(keys)) if keys else []
            ended = await session.rows(Attempt, ids) if ids else []
        chunks = {(row.attempt_id, row.number): row for row in rows}
        attempts = {row.id: row for row in ended}
        found: dict[LogPosition, Text] = {}
        for piece in pieces:
            id_, number = piece.place.attempt_id, piece.place.number
            if number != RESULT:
                if chunk := chunks.get((id_, number)):
                    found[piece.place] = Text(chunk.channel, chunk.text, 0, read_marks(chunk.marks))
            elif attempt := attempts.get(id_):
                last = None if piece.said is None else chunks.get((id_, piece.said))
                found[piece.place] = rest(attempt, last, chunks.get((id_, RESULT_MARKS)))
        return found


def rest(attempt: Attempt, last: LogChunk | None, known: LogChunk | None) -> Text:
    """The log that came with a result, from where the last chunk that is a part of it ends."""
    log = attempt.log or ""
    begin = 0
    if last is not None and not is_link(attempt.queue):
        end = last.number + len(last.text)
        begin = end if log[last.number : end] == last.text else 0
    return Text("log", log, begin, read_marks(known.marks if known else ""))


def view(place: LogPosition, channel: str, entry: LogEntry) -> LogView:
    task, _, number = place.attempt_id.rpartition("@")
    return LogView(
        at=place.at,
        level=entry.level or None,
        guess=entry.guess or None,
        task=task,
        attempt=int(number),
        channel=channel,
        text=entry.text,
    )

"""Feedback: progress and log chunks of running tasks, shown at once and kept with their attempt."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from windlass.engine.engine import Engine
from windlass.model.errors import Unavailable
from windlass.model.log_marks import LogMark, kept_marks, level_named
from windlass.model.rows import LogChunk
from windlass.model.values import is_object, storable
from windlass.protocol.link import messages as m
from windlass.server.said import AGE_MS_MAX, CHANNEL

if TYPE_CHECKING:
    from windlass.server.link.session import LinkSession

log = logging.getLogger(__name__)

_LOG_CHARS_MAX = 1_000_000
_FLUSH_CHARS = 32_768
_PENDING_CHARS_MAX = 16_000_000
"""What is kept in memory while the database is away."""
_CHANNEL_CHARS_MAX = 64
_GATHER_S = 1.0
_RESULTS_MAX = 1_000


class Piece(NamedTuple):
    """A text of one channel, and what is known of stretches of it."""

    channel: str
    text: str
    marks: list[LogMark]

    def with_more(self, more: "Piece") -> "Piece":
        text = self.text if self.text.endswith("\n") else f"{self.text}\n"
        moved = [LogMark(len(text) + mark.start, mark.length, mark.level) for mark in more.marks]
        return Piece(self.channel, text + more.text, [*self.marks, *moved])


class Progress(msgspec.Struct):
    """The newest word on a running attempt."""

    stage: str | None = None
    progress: float | None = None
    message: str | None = None
    results: dict[str, Any] = {}
    """What it has found so far, by JSON pointer."""
    at: int = 0

    def put(self, pointer: str, value: Any) -> None:
        if not pointer:
            self.results.clear()
        self.results.pop(pointer, None)
        if value is not None and len(self.results) < _RESULTS_MAX:
            self.results[pointer] = value

    def result(self) -> dict[str, Any]:
        """What is known of the result so far."""
        whole: dict[str, Any] = {}
        for pointer, value in self.results.items():
            *outer, last = (part.replace("~1", "/").replace("~0", "~") for part in split(pointer))
            inner = whole
            for part in outer:
                found = inner.get(part)
                inner[part] = inner = dict(found) if is_object(found) else {}
            inner[last] = value
        return whole


class FeedbackSink:
    """Takes feedback frames; tells listeners at once, writes chunks every now and then."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.progress: dict[str, Progress] = {}
        self.listeners: list[Callable[[str, m.Feedback], None]] = []
        """Told of each frame, with the attempt it is about."""
        self._pending: list[LogChunk] = []
        self._pending_chars = 0
        self._flushing = False
        self._soon = False
        self._chars: defaultdict[str, int] = defaultdict(int)
        self._number = 0

    def take(self, session: "LinkSession", attempt_id: str, feedback: m.Feedback) -> None:
        now = self._engine.store.now()
        known = self.progress.setdefault(attempt_id, Progress())
        known.stage = feedback.stage or known.stage
        known.message = feedback.message or known.message
        if feedback.progress is not None:
            known.progress = feedback.progress
        known.at = now
        for key, value in results_in(feedback).items():
            known.put(key, value)
        for piece in pieces_of(feedback):
            self._keep(attempt_id, feedback.run_id, piece, now)
        for tell in self.listeners:
            tell(attempt_id, feedback)
        if self._pending_chars > _FLUSH_CHARS and not self._flushing:
            session.spawn(session.reports.quietly(self.flush()))
        elif self._pending and not self._soon:
            self._soon = True
            session.spawn(session.reports.quietly(self._flush_soon()))

    async def _flush_soon(self) -> None:
        """Write what gathers for a moment: other servers are asked about it too."""
        try:
            await asyncio.sleep(_GATHER_S)
        finally:
            self._soon = False
        await self.flush()

    def _keep(self, attempt_id: str, run_id: str, piece: Piece, now: int) -> None:
        text = piece.text
        room = min(
            _LOG_CHARS_MAX - self._chars[attempt_id], _PENDING_CHARS_MAX - self._pending_chars
        )
        if not text or room <= 0:
            return
        text = storable(text[:room])
        self._chars[attempt_id] += len(text)
        # Numbers grow with time, so chunks of a session that another process began sort first.
        self._number = max(self._number + 1, now * 1000)
        self._pending.append(
            LogChunk(
                attempt_id=attempt_id,
                number=self._number,
                run_id=run_id,
                channel=piece.channel,
                text=text,
                at=now,
                marks=kept_marks(piece.marks, len(text)),
            )
        )
        self._pending_chars += len(text)

    def ended(self, attempt_id: str) -> None:
        self.progress.pop(attempt_id, None)
        self._chars.pop(attempt_id, None)

    def take_of(self, attempt_id: str) -> list[LogChunk]:
        """What an attempt has said and is not written yet, for the commit of its outcome."""
        mine = [chunk for chunk in self._pending if chunk.attempt_id == attempt_id]
        if mine:
            self._pending = [chunk for chunk in self._pending if chunk.attempt_id != attempt_id]
            self._pending_chars -= sum(len(chunk.text) for chunk in mine)
        return self._in_time(mine)

    async def flush(self) -> None:
        """Write what has gathered. Only a database that is away is worth another try: chunks of
        all workers are written together, and none may hold up another's results."""
        chunks, self._pending, self._pending_chars = self._pending, [], 0
        if not chunks:
            return
        self._flushing = True
        try:
            await self._engine.write(*self._in_time(chunks))
        except Unavailable:
            self._pending[:0] = chunks
            self._pending_chars += sum(len(chunk.text) for chunk in chunks)
            raise
        except Exception:
            log.exception("%d pieces of logs could not be kept", len(chunks))
        finally:
            self._flushing = False

    def _in_time(self, chunks: list[LogChunk]) -> list[LogChunk]:
        """Chunks that had to wait count as said only now: see `AGE_MS_MAX`."""
        first = self._engine.store.now() - AGE_MS_MAX
        replace = msgspec.structs.replace
        return [chunk if chunk.at >= first else replace(chunk, at=first) for chunk in chunks]


def pieces_of(feedback: m.Feedback) -> Iterator[Piece]:
    """What a frame says, with records of the log that follow each other in one piece. One that says
    its level, if only that it has none, is one record."""
    log: Piece | None = None
    for chunk in feedback.chunks or ():
        text = chunk.text if chunk.text is not None else chunk.data_base64 or ""
        piece = Piece(storable(chunk.channel[:_CHANNEL_CHARS_MAX]), text, [])
        level = (chunk.metadata or {}).get("level")
        if isinstance(level, str) and (length := len(text.removesuffix("\n"))):
            piece.marks.append(LogMark(0, length, level_named(level)))
        if piece.channel == CHANNEL:
            log = piece if log is None else log.with_more(piece)
            continue
        if log is not None:
            yield log
        log = None
        yield piece
    if log is not None:
        yield log


def split(pointer: str) -> list[str]:
    return pointer.removeprefix("/").split("/")


def results_in(feedback: m.Feedback) -> dict[str, Any]:
    """Places in its result that a running task tells of, as JSON pointers, with what is there now;
    None: nothing any more."""
    metadata = feedback.metadata or {}
    given = metadata.get("results", {})
    if given is None:
        return {"": None}
    results = dict(given) if is_object(given) else {}
    if "summary" in metadata:
        results.setdefault("summary", metadata["summary"])
    return {_pointer(key): value for key, value in results.items()}


def _pointer(key: str) -> str:
    return key if key.startswith("/") else f"/{key.replace('~', '~0').replace('/', '~1')}"

"""Cursors of a run's logs: up to where they were read.

Pieces are in the order of their time, which a writer takes before it commits. A piece may thus
appear a little before one that was read already. So while a page ends in the last few seconds, its
cursor stands at their beginning, and says beside it how far each attempt was read since: a late
piece is found behind it, and what was read is not read again.
"""

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from windlass.model.errors import BadRequest

LATE_MS = 6_000
"""How much later than its time says a piece may appear: `AGE_MS_MAX`, and a slow commit."""
RESULT = 2**63 - 1
"""The number of what came with an attempt's result: behind all that it said before."""
_SEEN_CHARS_MAX = 4_000
"""Of attempts' ids in one cursor. Where more talk at once, it looks back less far."""
_CURSOR_CHARS_MAX = 20_000
_NUMBER_MAX = 2**63


class LogPosition(NamedTuple):
    """A piece of a run's logs in their order: when it was said, by which attempt, as which."""

    at: int
    attempt_id: str
    number: int


FIRST = LogPosition(0, "", -RESULT)
LAST = LogPosition(RESULT, "\x7f", RESULT)


class Read(NamedTuple):
    """A piece that was looked at, and up to which character."""

    place: LogPosition
    end: int


class LogCursor(msgspec.Struct, frozen=True, array_like=True):
    """Where a page begins: in the piece at `place`, behind (or, backwards, before) a character."""

    place: LogPosition
    offset: int
    seen: Mapping[str, tuple[int, int]] = {}
    """Of attempts that were read behind `place`: the number of their last piece, and how far."""
    backwards: bool = False

    def begin_in(self, place: LogPosition) -> int:
        """From which character of a piece on is unread; past its end if none is."""
        number, end = self.seen.get(place.attempt_id, (-RESULT, 0))
        if place.number < number:
            return RESULT
        begin = end if place.number == number else 0
        return max(begin, self.offset) if place == self.place else begin

    def text(self) -> str:
        return base64.urlsafe_b64encode(msgspec.json.encode(self)).decode().rstrip("=")


def read_cursor(text: str) -> LogCursor:
    try:
        if len(text) > _CURSOR_CHARS_MAX:
            raise ValueError
        found = msgspec.json.decode(
            base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True),
            type=LogCursor,
        )
        numbers = [found.place.at, found.place.number, found.offset]
        if "\0" in found.place.attempt_id or any(abs(n) >= _NUMBER_MAX for n in numbers):
            raise ValueError
    except (ValueError, binascii.Error, msgspec.MsgspecError) as error:
        raise BadRequest(f'cursor="{text:.40}" is not the "next" of a page') from error
    return found


def cursor_behind(pieces: Sequence[Read], now: int, before: LogCursor) -> LogCursor:
    """The cursor behind pieces that were looked at in order, all since the cursor `before`."""
    if not pieces:
        return before
    last = pieces[-1]
    edge = LogPosition(now - LATE_MS, "", -RESULT)
    if last.place < edge:
        return LogCursor(last.place, last.end)
    seen: dict[str, tuple[int, int]] = {}
    chars = 0
    begin = max(edge, before.place)
    for piece in reversed(pieces):
        attempt = piece.place.attempt_id
        if piece.place < edge:
            break
        if attempt not in seen:
            chars += len(attempt)
            if chars > _SEEN_CHARS_MAX:
                return LogCursor(piece.place, piece.end, seen)
        seen[attempt] = max((piece.place.number, piece.end), seen.get(attempt, (-RESULT, 0)))
    return LogCursor(begin, 0, seen)

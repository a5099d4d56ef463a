"""What running attempts log, piece by piece."""

from collections.abc import Iterable

from windlass.engine.engine import Engine
from windlass.model.ids import run_of
from windlass.model.log_marks import kept_marks
from windlass.model.rows import LogChunk
from windlass.model.values import storable
from windlass.protocol.exchange import LOG_CHARS_MAX, Said

CHANNEL = "log"
AGE_MS_MAX = 4_000
"""What waited for longer has the time at which it came, less this: whoever follows the logs of a
run looks back for so long, and would miss it further back."""


async def keep_log(engine: Engine, pieces: Iterable[Said]) -> None:
    """Write pieces down. A piece is known by its place in the log, so one that comes twice, or
    again with more behind it, stands there once."""
    now = engine.store.now()
    own = [(piece, storable(piece.text[: LOG_CHARS_MAX - piece.offset])) for piece in pieces]
    chunks = [
        LogChunk(
            attempt_id=piece.attempt_id,
            number=piece.offset,
            run_id=run_of(piece.attempt_id),
            channel=CHANNEL,
            text=text,
            at=now - min(piece.age_ms, AGE_MS_MAX),
            marks=kept_marks(piece.marks, len(text)),
        )
        for piece, text in own
    ]
    if chunks:
        await engine.write(*chunks)

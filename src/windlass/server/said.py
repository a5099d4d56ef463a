"""What running attempts log, piece by piece."""

from collections.abc import Iterable

from windlass.engine.engine import Engine
from windlass.model.ids import run_of
from windlass.model.rows import LogChunk
from windlass.model.values import storable
from windlass.protocol.exchange import LOG_CHARS_MAX, Said

CHANNEL = "log"


async def keep_log(engine: Engine, pieces: Iterable[Said]) -> None:
    """Write pieces down. A piece is known by its place in the log, so one that comes twice, or
    again with more behind it, stands there once."""
    now = engine.store.now()
    chunks = [
        LogChunk(
            attempt_id=piece.attempt_id,
            number=piece.offset,
            run_id=run_of(piece.attempt_id),
            channel=CHANNEL,
            text=storable(piece.text[: LOG_CHARS_MAX - piece.offset]),
            at=now,
        )
        for piece in pieces
    ]
    if chunks:
        await engine.write(*chunks)

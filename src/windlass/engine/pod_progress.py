"""How far programs in pods say they are: the newest word of each, for whoever asks."""

from collections.abc import Sequence

import msgspec

from windlass.engine.engine import Engine
from windlass.model.ids import run_of
from windlass.model.rows import LogChunk
from windlass.model.values import storable

_NUMBER = -1
"""Where it stands: before all that the program has logged."""


class PodProgress(msgspec.Struct, frozen=True, omit_defaults=True):
    """How far the program in a pod says it is."""

    share: float | None = None
    message: str = ""


async def keep_progress(engine: Engine, attempt_id: str, share: float | None, message: str) -> None:
    """Keep the newest word of the program in a pod: one row for each attempt, and no event."""
    said = PodProgress(share, storable(message))
    chunk = LogChunk(
        attempt_id=attempt_id,
        number=_NUMBER,
        run_id=run_of(attempt_id),
        channel="progress",
        text=msgspec.json.encode(said).decode(),
        at=engine.store.now(),
    )
    await engine.write(chunk)


async def progress_of(engine: Engine, attempt_id: str) -> tuple[PodProgress, int] | None:
    """What the program in a pod said last of how far it is, and when."""
    return (await progress_of_all(engine, [attempt_id])).get(attempt_id)


async def progress_of_all(
    engine: Engine, attempts: Sequence[str]
) -> dict[str, tuple[PodProgress, int]]:
    """The same of several, by attempt; those that said nothing are left out."""
    async with engine.store.session() as session:
        rows = await session.rows(LogChunk, [(attempt, _NUMBER) for attempt in attempts])
    return {
        row.attempt_id: (msgspec.json.decode(row.text, type=PodProgress), row.at) for row in rows
    }

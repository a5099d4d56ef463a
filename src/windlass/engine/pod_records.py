"""What was seen of pods, as every server on the database tells it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from windlass.engine.engine import Engine
from windlass.model.ids import run_of
from windlass.model.pod_records import (
    REASONS_MAX,
    KubeEvents,
    PodRecord,
    PodWait,
    RecordKind,
)
from windlass.model.reasons import Reason

_waits = msgspec.json.Decoder(list[PodWait])
_events = msgspec.json.Decoder(KubeEvents)


class PodSeen(NamedTuple):
    """What is kept of one pod."""

    waits: Sequence[PodWait] = ()
    """The oldest first."""
    events: KubeEvents | None = None
    """None until Kubernetes was asked."""
    events_at: int = 0
    """When it told something else than before."""

    @property
    def waits_for(self) -> Reason | None:
        """What it waited for when it was seen last."""
        return self.waits[-1].reason if self.waits else None


async def seen_of(engine: Engine, attempts: Iterable[str]) -> dict[str, PodSeen]:
    """What is kept of some pods, by attempt."""
    keys = [(attempt, str(kind)) for attempt in sorted(set(attempts)) for kind in RecordKind]
    async with engine.store.session() as session:
        rows = await session.rows(PodRecord, keys) if keys else []
    found: dict[str, PodSeen] = {}
    for row in rows:
        seen = found.get(row.attempt_id, PodSeen())
        if row.kind is RecordKind.WAITS:
            seen = seen._replace(waits=_waits.decode(row.text))
        else:
            seen = seen._replace(events=_events.decode(row.text), events_at=row.at)
        found[row.attempt_id] = seen
    return found


class PodWaits:
    """Keeps what pods wait for, whenever that is another thing than before. Kubernetes says the
    same of a pod at every look, which costs nothing here."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._known: dict[str, Reason] = {}

    async def note(self, reasons: Mapping[str, Reason]) -> None:
        """These are all that wait, and what for."""
        news = {id_: why for id_, why in reasons.items() if self._known.get(id_) != why}
        if news:
            # Another server, or this one before it was started again, may have written it down.
            seen = await seen_of(self._engine, news)
            now = self._engine.store.now()
            rows: list[PodRecord] = []
            for attempt, reason in news.items():
                waits = seen.get(attempt, PodSeen()).waits
                if not waits or waits[-1].reason != reason:
                    kept = [*waits, PodWait(now, reason)][-REASONS_MAX:]
                    rows.append(record(attempt, RecordKind.WAITS, kept, now))
            if rows:
                await self._engine.write(*rows)
        self._known = dict(reasons)


async def keep_events(engine: Engine, attempt: str, events: KubeEvents) -> None:
    await engine.write(record(attempt, RecordKind.EVENTS, events, engine.store.now()))


def record(attempt: str, kind: RecordKind, value: object, now: int) -> PodRecord:
    text = msgspec.json.encode(value).decode()
    return PodRecord(attempt_id=attempt, kind=kind, run_id=run_of(attempt), text=text, at=now)

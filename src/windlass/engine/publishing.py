"""Publishing events of runs on a bus.

Where there is a bus, every commit promises in its own rows, one effect for each run it moved, that
the events it made are published. Whichever process has the bus does them, under a lease and a fair
share for each run; a crash repeats some, and the bus knows them by their ids. A bus that is away
costs no try: what waits is published when it is back.
"""

from collections.abc import Sequence
from typing import cast

import msgspec

from windlass.engine.engine import Engine
from windlass.engine.loops.outbox import NotHere, Outbox
from windlass.model.effects import Effect
from windlass.model.errors import Unavailable
from windlass.model.rows import Event, Run
from windlass.model.times import iso
from windlass.ports.bus import Bus, Message
from windlass.ports.store import Cond, Writes
from windlass.protocol.run_events import RunEvent, subject

PUBLISH = "publish"
ADDRESS = "bus"
_PAYLOAD_CHARS_MAX = 256 * 1024
_AT_ONCE = 500


class Span(msgspec.Struct, frozen=True):
    """Which events of its run an effect is about."""

    first: int
    last: int


def promise(writes: Writes, now: int) -> None:
    """Add to a commit that its events are to be published."""
    spans: dict[str, Span] = {}
    for run_id, seq in cast("dict[tuple[str, int], Event]", writes.made.get(Event, {})):
        span = spans.get(run_id, Span(seq, seq))
        spans[run_id] = Span(min(span.first, seq), max(span.last, seq))
    if not spans:
        return
    effects = writes.made.setdefault(Effect, {})
    for run_id, span in spans.items():
        effect = Effect(
            id=f"{PUBLISH}:{run_id}:{span.first}",
            kind=PUBLISH,
            address=ADDRESS,
            run_id=run_id,
            body=msgspec.json.encode(span).decode(),
            due_at=now,
            created_at=now,
        )
        effects[effect.id] = effect


class Publisher:
    """Does what commits have promised the bus."""

    def __init__(self, engine: Engine, bus: Bus, prefix: str) -> None:
        self._engine = engine
        self._bus = bus
        self._prefix = prefix

    def outbox(self) -> Outbox:
        """The loop that publishes, for an engine whose commits promise it from now on."""
        self._engine.advance.promises.append(promise)
        addresses = (ADDRESS,)
        handlers = {PUBLISH: self.publish}
        return Outbox(self._engine, handlers, lambda: addresses, anybodys=False)

    async def publish(self, effect: Effect) -> None:
        span = msgspec.json.decode(effect.body, type=Span)
        async with self._engine.store.session() as session:
            runs = await session.rows(Run, [effect.run_id])
        if not runs:
            return  # it was deleted meanwhile, and its events with it
        first = span.first
        while first <= span.last:
            events = await self._events(effect.run_id, first, span.last)
            if not events:
                return
            try:
                await self._bus.publish([self._message(runs[0], event) for event in events])
            except Unavailable as error:
                raise NotHere(str(error)) from error
            first = events[-1].seq + 1

    async def _events(self, run_id: str, first: int, last: int) -> Sequence[Event]:
        where = [Cond("run_id", "=", run_id), Cond("seq", ">=", first), Cond("seq", "<=", last)]
        return await self._engine.store.page(
            Event, where, order="seq", descending=False, limit=_AT_ONCE
        )

    def _message(self, run: Run, event: Event) -> Message:
        too_large = len(event.data) > _PAYLOAD_CHARS_MAX
        told = RunEvent(
            schema_version=1,
            event_id=f"{event.run_id}:{event.seq}",
            run_id=event.run_id,
            tenant=run.tenant,
            seq=event.seq,
            aggregate_type="task" if event.task_id else "run",
            aggregate_id=event.task_id or event.run_id,
            aggregate_version=event.seq,
            type=event.type,
            correlation_id=event.run_id,
            created_at=iso(event.at),
            published_at=iso(self._engine.store.now()),
            task_id=event.task_id,
            payload=None if too_large else msgspec.Raw(event.data.encode()),
            payload_omitted=too_large,
        )
        at = subject(self._prefix, event.run_id, event.type)
        return Message(told.event_id, at, msgspec.json.encode(told))

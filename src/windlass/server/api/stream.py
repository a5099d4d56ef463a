"""One stream of everything this process commits, for browsers that keep many pages alive with it.

Theory of operation. A listener of the group commit puts each event into a ring, numbered within
this process's life. Every connected browser reads the ring from where it is, in batches, at most
every few milliseconds. `Last-Event-ID` resumes as long as the ring still holds what follows;
otherwise the browser gets `reset` and heals each open run from its own events by `seq`. What
another process committed is not here: then `poke` asks the browser to look again. While nobody
listens the ring stays empty and a commit costs one comparison. Of logs it only tells which run has
more, whichever process kept it: texts are read where logs are read.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Collection
from typing import Any, NamedTuple, cast

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from windlass.engine.engine import Engine
from windlass.engine.feed import EVERY_RUN
from windlass.model.rows import Checkpoint, Event, Run, Worker
from windlass.model.tenants import ALL, DEFAULT
from windlass.ports.store import Writes
from windlass.protocol.exchange import Wire
from windlass.server.caller import who
from windlass.server.context import context_of
from windlass.server.event_stream import EventStream
from windlass.server.http import number_of, raw
from windlass.server.routes import Route
from windlass.server.run_events import any_set, run_after, sse

RING_MAX = 10_000
_GATHER_S = 0.05
_BATCH_MAX = 500
_OWNERS_MAX = 10_000
_LINGER_MS = 60_000
"""How long the ring is kept filled after the last browser left, for one that comes back."""


class RunNews(Wire, frozen=True, kw_only=True):
    """An event of a run, and the run as it stands after the commit."""

    run_id: str
    flow: str
    version_id: str
    state: str
    seq: int
    type: str
    task_id: str | None
    at: int
    data: msgspec.Raw
    error: msgspec.Raw | None
    failures: int
    open: int
    generation: int
    created_at: int
    started_at: int | None
    updated_at: int
    finished_at: int | None


class CheckpointNews(Wire, frozen=True, kw_only=True):
    id: str
    run_id: str
    state: str


class WorkerNews(Wire, frozen=True, kw_only=True):
    id: str
    state: str
    seen_at: int


class LogNews(Wire, frozen=True, kw_only=True):
    """Attempts of a run have said something: it is read where logs are read."""

    run_id: str


class RingEntry(NamedTuple):
    number: int
    kind: str
    row: Any
    run: Run | None

    def concerns(self, tenant: str) -> bool:
        """Whether somebody of a tenant may hear of it."""
        whose = self.row.tenant if self.run is None else self.run.tenant
        return whose == tenant or (whose == ALL and self.kind == "worker")


class Hub:
    """The ring, and who reads it."""

    def __init__(self, engine: Engine, ring_max: int = RING_MAX) -> None:
        self._engine = engine
        self.boot = f"{engine.new_id()[:13].replace('-', '')}"
        self._ring: deque[RingEntry] = deque(maxlen=ring_max)
        self._next = 1
        self._readers: set[asyncio.Event] = set()
        self._listened_at = -_LINGER_MS
        self._owners: dict[str, str] = {}
        """The tenants of runs that talk, which a piece of a log does not say."""
        engine.advance.listeners.append(self.committed)
        engine.feed.on_logs.append(self.logged)

    def committed(self, writes: Writes) -> None:
        """Take in one commit."""
        if self._is_alone():
            return
        for row in writes.made.get(Event, {}).values():
            event = cast(Event, row)
            self._add("run", event, run_after(writes, event.run_id))
        for kind, table in (("checkpoint", Checkpoint), ("worker", Worker)):
            for rows in (writes.made, writes.changed):
                for row in rows.get(table, {}).values():
                    self._add(kind, row, None)
        self._wake()

    def logged(self, run_ids: Collection[str]) -> None:
        """Take in that runs have logged something, here or elsewhere."""
        if self._is_alone():
            return
        for run_id in run_ids:
            self._add("log", run_id, None)
        self._wake()

    def _is_alone(self) -> bool:
        """Whether nobody has listened for a while, and the ring is kept empty."""
        if self._readers or self._engine.store.now() - self._listened_at <= _LINGER_MS:
            return False
        # A gap nobody saw: a number from before it must not resume across it.
        self._next += 1
        self._ring.clear()
        return True

    def _wake(self) -> None:
        for reader in self._readers:
            reader.set()

    def _add(self, kind: str, row: Any, run: Run | None) -> None:
        if kind == "run" and run is None:
            return
        self._ring.append(RingEntry(self._next, kind, row, run))
        self._next += 1

    def after(self, number: int) -> list[RingEntry] | None:
        """What follows a number, at most a batch of it; None when some of it is gone."""
        if number == self._next - 1:
            return []
        first = self._ring[0].number if self._ring else self._next
        if number < first - 1 or number >= self._next:
            return None
        start = number + 1 - first
        return [self._ring[at] for at in range(start, min(len(self._ring), start + _BATCH_MAX))]

    def resume(self, last_id: str) -> int | None:
        """The number to go on from; None when this process cannot tell what was missed."""
        boot, _, text = last_id.partition("-")
        number = number_of(text)
        if boot != self.boot or number is None or self.after(number) is None:
            return None
        return number

    @property
    def newest(self) -> int:
        return self._next - 1

    async def read(
        self, last_id: str, stopping: asyncio.Event, tenant: str = DEFAULT
    ) -> AsyncGenerator[bytes]:
        """The stream of one browser of a tenant, until it leaves or the server stops."""
        resumed = self.resume(last_id)
        reader = asyncio.Event()
        others = asyncio.Event()
        self._readers.add(reader)
        at = self.newest if resumed is None else resumed
        try:
            with self._engine.feed.runs.watching(EVERY_RUN, others):
                yield self._message(
                    at, "hello" if resumed is not None or not last_id else "reset", []
                )
                while not stopping.is_set():
                    found = self.after(at)
                    if found is None:
                        at = self.newest
                        yield self._message(at, "reset", [])
                    elif found:
                        for message in self._messages(await self._for(tenant, found)):
                            yield message
                        at = found[-1].number
                        await asyncio.sleep(_GATHER_S)
                    elif others.is_set():
                        others.clear()
                        yield self._message(at, "poke", [])
                        await asyncio.sleep(_GATHER_S)
                    else:
                        reader.clear()
                        if not await any_set(reader, others, stopping):
                            yield b": still here\n\n"
        finally:
            self._readers.discard(reader)
            self._listened_at = self._engine.store.now()

    async def _for(self, tenant: str, entries: list[RingEntry]) -> list[RingEntry]:
        """What somebody of a tenant may hear of, in order."""
        said = {entry.row for entry in entries if entry.kind == "log"}
        if unknown := sorted(said - self._owners.keys()):
            async with self._engine.system.store.session() as session:
                rows = await session.rows(Run, unknown)
            if len(self._owners) > _OWNERS_MAX:
                self._owners.clear()
            self._owners.update({row.id: row.tenant for row in rows})
        return [
            entry
            for entry in entries
            if (
                self._owners.get(entry.row) == tenant
                if entry.kind == "log"
                else entry.concerns(tenant)
            )
        ]

    def _messages(self, entries: list[RingEntry]) -> list[bytes]:
        """Entries as messages: neighbours of one kind share one."""
        messages: list[bytes] = []
        group: list[RingEntry] = []
        for entry in entries:
            if group and group[-1].kind != entry.kind:
                messages.append(self._group(group))
                group = []
            group.append(entry)
        return [*messages, self._group(group)] if group else messages

    def _group(self, group: list[RingEntry]) -> bytes:
        news = [news_of(entry) for entry in group]
        return self._message(group[-1].number, group[0].kind, news)

    def _message(self, number: int, kind: str, news: list[Any]) -> bytes:
        return sse(f"{self.boot}-{number}", kind, msgspec.json.encode(news))


def news_of(entry: RingEntry) -> RunNews | CheckpointNews | WorkerNews | LogNews:
    row = entry.row
    if entry.kind == "log":
        return LogNews(run_id=row)
    if isinstance(row, Checkpoint):
        return CheckpointNews(id=row.id, run_id=row.run_id, state=str(row.state))
    if isinstance(row, Worker):
        return WorkerNews(id=row.id, state=row.state, seen_at=row.seen_at)
    run = entry.run
    assert isinstance(row, Event), f"no news is made of {type(row).__name__}"
    assert run is not None, "an event is kept with its run"
    return RunNews(
        run_id=run.id,
        flow=run.flow_name,
        version_id=run.version_id,
        state=str(run.state),
        seq=row.seq,
        type=row.type,
        task_id=row.task_id,
        at=row.at,
        data=msgspec.Raw(row.data.encode()),
        error=raw(run.error),
        failures=run.failures,
        open=run.open,
        generation=run.generation,
        created_at=run.created_at,
        started_at=run.started_at,
        updated_at=run.updated_at,
        finished_at=run.finished_at,
    )


async def stream(request: Request) -> Response:
    """Everything this process commits, as server-sent events; `Last-Event-ID` resumes."""
    hub = context_of(request).part(Hub)
    last_id = request.headers.get("last-event-id", "")
    tenant = who(request).tenant
    return EventStream(request, hub.read(last_id, context_of(request).stopping, tenant))


ROUTES = [Route("GET", "/api/v1/stream", stream)]

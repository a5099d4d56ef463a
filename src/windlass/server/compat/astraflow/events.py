"""Streams of events for clients: each gets what concerns its own runs or all, and all workers.

Theory of operation. A listener of the group commit puts the events of a client's runs into the
bounded queue of each of its streams; the stream draws news from them as it writes. A stream
remembers the newest `seq` of each run it told of, so what comes twice is told once, and what
another process committed is read from the database: one task looks for all streams every second.
News of runs are durable: their ids name the run and its `seq`, and `Last-Event-ID` has them told
again from there.
Progress, pieces of results, workers and commands are told once, to whoever listens then.
"""

import asyncio
import contextlib
import logging
from collections import OrderedDict
from collections.abc import AsyncGenerator
from typing import Any, cast

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from windlass.dialects.workflow import HOST
from windlass.engine.engine import Engine
from windlass.engine.feed import EVERY_RUN
from windlass.engine.loops.forever import Duty
from windlass.model.errors import BadRequest, Unavailable
from windlass.model.ids import task_of
from windlass.model.rows import Event, Run, Task, Worker
from windlass.model.tenants import ALL, DEFAULT
from windlass.model.times import iso
from windlass.ports.store import Writes
from windlass.protocol.link import messages as m
from windlass.server.caller import who
from windlass.server.commands import CommandNews, Commands
from windlass.server.compat.astraflow.history import History
from windlass.server.compat.astraflow.news import News, Teller, feedback_news
from windlass.server.compat.astraflow.runs import is_workflow_run
from windlass.server.compat.astraflow.streams import (
    EVERYBODY,
    RUNS_MAX,
    Item,
    Moved,
    OfRun,
    Said,
    Speaker,
    Stream,
)
from windlass.server.compat.astraflow.views import tags_of
from windlass.server.compat.astraflow.worker_news import (
    command_news,
    heartbeat_news,
    package_news,
)
from windlass.server.context import context_of
from windlass.server.event_stream import EventStream
from windlass.server.link.plane import LinkPlane
from windlass.server.link.session import LinkSession
from windlass.server.routes import Route
from windlass.server.run_events import any_set, run_after, sse

log = logging.getLogger(__name__)

_GATHER_S = 0.25
_LOOK_S = 1.0
_CLIENT_MAX = 200


class Events:
    """All streams of this process."""

    def __init__(self, engine: Engine, link: LinkPlane, commands: Commands) -> None:
        self._engine = engine
        self._link = link
        self._tenant = link.settings.tenant if engine.home == DEFAULT else engine.home
        self.teller = Teller(engine, link)
        self._history = History(engine, self.teller)
        self._streams: dict[str, set[Stream]] = {}
        self._owners: OrderedDict[str, str] = OrderedDict()
        """The clients of runs that moved lately."""
        self._looking: asyncio.Task[None] | None = None
        self._count = 0
        engine.advance.listeners.append(self.committed)
        link.feedback.listeners.append(self._said)
        link.on_package.append(self._package)
        commands.listeners.append(self._command)

    # What happens

    def committed(self, writes: Writes) -> None:
        if not self._streams:
            return
        tasks: dict[str, Task] | None = None
        for row in writes.made.get(Event, {}).values():
            event = cast(Event, row)
            run = run_after(writes, event.run_id)
            if run is None or run.tenant != self._engine.home or not is_workflow_run(run):
                continue
            for stream in self._listening(self._note_owner(run)):
                if tasks is None:
                    made, changed = writes.made.get(Task, {}), writes.changed.get(Task, {})
                    tasks = cast("dict[str, Task]", {**made, **changed})
                stream.put(OfRun(event, run, tasks))
        for row in (
            *writes.made.get(Worker, {}).values(),
            *writes.changed.get(Worker, {}).values(),
        ):
            worker = cast(Worker, row)
            if worker.transport == "link" and worker.tenant in (ALL, self._engine.home):
                self._to_all(*heartbeat_news(self._engine, worker))

    def _note_owner(self, run: Run) -> str:
        owner = self._owners[run.id] = str(tags_of(run).get("clientId"))
        while len(self._owners) > RUNS_MAX:
            self._owners.popitem(last=False)
        return owner

    def _listening(self, owner: str) -> list[Stream]:
        """The streams that tell of a client's runs."""
        found = self._streams
        return [*found.get(owner, ()), *(found.get(EVERYBODY, ()) if owner != EVERYBODY else ())]

    def _said(self, attempt_id: str, feedback: m.Feedback) -> None:
        said = Said(attempt_id, feedback, self._engine.store.now())
        owner = self._owners.get(feedback.run_id)
        for client, streams in self._streams.items():
            if owner in (None, client) or client == EVERYBODY:
                for stream in streams:
                    stream.put(said)

    def _package(self, session: LinkSession, event: m.PkgEvent) -> None:
        if session.tenant in (ALL, self._engine.home):
            self._to_all(*package_news(session.worker_id, event))

    def _command(self, news: CommandNews) -> None:
        session = self._link.sessions.get(news.worker_id)
        if session is None or session.tenant not in (ALL, self._engine.home):
            return
        self._to_all(*command_news(news, self._engine.store.now()))

    def _to_all(self, type_: str, worker: str, data: dict[str, Any]) -> None:
        news = self._volatile(type_, data, worker=worker)
        for streams in self._streams.values():
            for stream in streams:
                stream.put(news)

    def _volatile(
        self, type_: str, data: dict[str, Any], *, run_id: str = "", worker: str = ""
    ) -> News:
        self._count += 1
        now = self._engine.store.now()
        id_ = f"v:{self._engine.name}:{self._count}"
        return News(id_, type_, now, {"kind": type_, **data}, run_id, worker, durable=False)

    # Reading

    async def read(
        self, client: str, last_id: str, stopping: asyncio.Event
    ) -> AsyncGenerator[bytes]:
        """The stream of one client, until it leaves, falls behind, or the server stops."""
        stream = Stream(client, began_at=self._engine.store.now())
        self._streams.setdefault(client, set()).add(stream)
        if self._looking is None or self._looking.done():
            self._looking = asyncio.ensure_future(self._look())
        try:
            yield b": welcome\n\n"
            async for message in self._messages(stream, last_id, stopping):
                yield message
        except Unavailable as error:
            log.info("a stream ends: %s", error)
            yield b"retry: 1000\n: the database is away; connect again\n\n"
        finally:
            self._streams[client].discard(stream)
            if not self._streams[client]:
                del self._streams[client]

    async def _messages(
        self, stream: Stream, last_id: str, stopping: asyncio.Event
    ) -> AsyncGenerator[bytes]:
        async for news, replayed in self._history.begin(stream, last_id):
            yield self._message(stream.client, news, replayed=replayed)
        while not stopping.is_set():
            stream.ready.clear()
            item = stream.take()
            if item is not None:
                for news in await self._draw(stream, item):
                    yield self._message(stream.client, news)
            elif stream.overran:
                yield b"retry: 100\n: this client is too slow; connect again\n\n"
                return
            elif not await any_set(stream.ready, stopping):
                yield b": still here\n\n"

    async def _look(self) -> None:
        """See now and then what other processes did: once for all streams, while there are any."""
        others = asyncio.Event()
        duty = self._engine.duties.of("EventStreams")
        try:
            with self._engine.feed.runs.watching(EVERY_RUN, others):
                while self._streams:
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(_LOOK_S):
                            await others.wait()
                    others.clear()
                    await asyncio.sleep(await self._look_openly(duty))
        finally:
            # Nobody listens any more: what failed is not waited for.
            duty.went_well()

    async def _look_openly(self, duty: Duty) -> float:
        """Look once; a failure is seen by whoever asks how this process is. Returns how long to
        pause."""
        try:
            await self._look_once()
        except Unavailable as error:
            log.info("streams wait: %s", error)
        except Exception as error:
            log.exception("streams miss what other processes did; they go on")
            return duty.failed(error)
        else:
            duty.went_well()
        return _GATHER_S

    async def _look_once(self) -> None:
        streams = [stream for some in self._streams.values() for stream in some]
        for run in await self._history.moved({run_id for s in streams for run_id in s.open}):
            for stream in self._listening(self._note_owner(run)):
                if stream.is_over(run):
                    continue
                if stream.idle and run.seq > stream.seen.get(run.id, 0):
                    stream.put(Moved(run))

    async def _draw(self, stream: Stream, item: Item) -> list[News]:
        match item:
            case News():
                return [item]
            case Said():
                return await self._feedback(stream, item)
            case Moved():
                return await self._moved(stream, item.run)
            case OfRun():
                return await self._run(stream, item)

    async def _run(self, stream: Stream, item: OfRun) -> list[News]:
        """News of a commit; what came before it elsewhere is read first, what is known skipped."""
        run, seq = item.run, item.event.seq
        seen = stream.seen.get(run.id)
        if seen is None and seq > 1:
            stream.told(run, run.seq)
            return [await self.teller.snapshot(run)]
        if seen is not None and seq <= seen:
            return []
        news: list[News] = []
        if seen is not None and seq > seen + 1:
            news = [n async for n in self._history.between(run, seen, seq)]
        stream.told(run, seq)
        news += await self.teller.tell(run, item.event, item.tasks)
        return [one for one in news if stream.is_new(one)]

    async def _moved(self, stream: Stream, run: Run) -> list[News]:
        seen = stream.seen.get(run.id, 0)
        if run.seq <= seen:
            return []
        stream.told(run, run.seq)
        return [n async for n in self._history.between(run, seen, run.seq + 1) if stream.is_new(n)]

    async def _feedback(self, stream: Stream, said: Said) -> list[News]:
        if len(stream.attempts) > RUNS_MAX:
            stream.attempts.clear()
        if said.attempt_id not in stream.attempts:
            stream.attempts[said.attempt_id] = await self._speaker(stream, said)
        speaker = stream.attempts[said.attempt_id]
        if speaker is None:
            return []
        found = feedback_news(
            speaker.run_id,
            speaker.node,
            speaker.revision,
            said.feedback,
            said.at,
            speaker.sequence,
        )
        speaker.sequence += len(found)
        return [self._volatile(type_, data, run_id=speaker.run_id) for type_, data in found]

    async def _speaker(self, stream: Stream, said: Said) -> Speaker | None:
        """Whose feedback it is, if it is this client's business."""
        async with self._engine.store.session() as session:
            tasks = await session.rows(Task, [task_of(said.attempt_id)])
            runs = await session.rows(Run, [said.feedback.run_id])
        if not tasks or not runs or not stream.concerns(self._note_owner(runs[0])):
            return None
        node = await self.teller.node_of(runs[0], tasks[0].node, HOST)
        return Speaker(runs[0].id, node, tasks[0].made_seq) if node else None

    def _message(self, client: str, news: News, *, replayed: bool = False) -> bytes:
        scope: dict[str, Any] = {"tenant": self._tenant}
        if news.run_id:
            scope["runId"] = news.run_id
            if owner := client or self._owners.get(news.run_id):
                scope["clientSessionId"] = owner
        if news.worker:
            scope["workerName"] = news.worker
        envelope = {
            "version": "v1",
            "id": news.id,
            "type": news.type,
            "occurredAt": iso(news.at),
            "scope": scope,
            "replayed": replayed,
            "data": news.data,
        }
        # What is told once has no place of its own; its time stands for all that went before.
        place = news.id if news.durable else f"t:{news.at}"
        return sse(place, news.type, msgspec.json.encode(envelope))


class TenantEvents:
    """The streams of each tenant that has asked for one."""

    def __init__(self, engine: Engine, link: LinkPlane, commands: Commands) -> None:
        self._engine = engine
        self._link = link
        self._commands = commands
        self._known: dict[str, Events] = {}

    def of(self, tenant: str) -> Events:
        if tenant not in self._known:
            self._known[tenant] = Events(self._engine.of(tenant), self._link, self._commands)
        return self._known[tenant]


async def events(request: Request) -> Response:
    """What happens to runs, of one client or of all, and to workers; `Last-Event-ID` resumes."""
    client = request.query_params.get("clientSessionId", EVERYBODY)
    if len(client) > _CLIENT_MAX:
        raise BadRequest("clientSessionId names the client: the clientId its runs are started with")
    streams = context_of(request).part(TenantEvents)
    hub = streams.of(who(request).tenant)
    last_id = request.headers.get("last-event-id") or request.query_params.get("lastEventId", "")
    return EventStream(request, hub.read(client, last_id, context_of(request).stopping))


ROUTES = [Route("GET", "/api/v1/events", events, query=("clientSessionId", "lastEventId"))]

"""What a stream tells from the database: how runs stand, and what was missed."""

import re
from collections.abc import AsyncIterator
from typing import NamedTuple

import msgspec

from windlass.engine.engine import Engine
from windlass.model.ids import uuid7
from windlass.model.rows import Event, Run
from windlass.model.states import RUN_ENDED, RunState
from windlass.ports.store import Cond
from windlass.server.compat.astraflow.news import News, Teller
from windlass.server.compat.astraflow.runs import is_workflow_run
from windlass.server.compat.astraflow.streams import EVERYBODY, Stream
from windlass.server.compat.astraflow.views import tags_of
from windlass.server.run_events import events_between

_OPEN = tuple(str(state) for state in RunState if state not in RUN_ENDED)
_RUNS_MAX = 500
_EVENTS_MAX = 2_000
_OVERLAP_MS = 2_000
"""Processes commit side by side: what carries an older time may come a little later."""
_BACK_MS = 7 * 86_400_000
_RECENT_MS = 60_000
_ALL = 1 << 30
_PLACE = re.compile(r"([0-9a-f-]{36}):([0-9]{1,15}):([0-9]{1,9}|s)")
_TIME = re.compile(r"t:([0-9]{1,15})")


class LastTold(NamedTuple):
    """Where a client was: everything before `since` was told, of one run a little more."""

    since: int
    run_id: str = ""
    seq: int = 0
    k: int = 0


class History:
    def __init__(self, engine: Engine, teller: Teller) -> None:
        self._engine = engine
        self._teller = teller

    async def begin(self, stream: Stream, last_id: str) -> AsyncIterator[tuple[News, bool]]:
        """Where a stream starts: what was missed since the last id, or how open runs stand."""
        place = await self._place(last_id)
        if place is None:
            for run in await self._runs(stream.client, [Cond("state", "in", _OPEN)]):
                stream.told(run, run.seq)
                yield await self._teller.snapshot(run), False
            return
        async for news in self._missed(stream, place):
            yield news, True

    async def _place(self, last_id: str) -> LastTold | None:
        if found := _TIME.fullmatch(last_id):
            return LastTold(int(found.group(1)))
        found = _PLACE.fullmatch(last_id)
        if found is None:
            return None
        run_id, seq, k = found.groups()
        async with self._engine.store.session() as session:
            rows = await session.rows(Event, [(run_id, int(seq))])
        if not rows:
            return None
        return LastTold(rows[0].at, run_id, int(seq), _ALL if k == "s" else int(k))

    async def _missed(self, stream: Stream, place: LastTold) -> AsyncIterator[News]:
        since = place.since - _OVERLAP_MS
        back = uuid7(max(0, self._engine.store.now() - _BACK_MS), 0)
        changed = [Cond("updated_at", ">=", since)]
        runs = {
            run.id: run for run in await self._runs(stream.client, [Cond("state", "in", _OPEN)])
        }
        late = await self._runs(stream.client, [Cond("id", ">=", back), *changed])
        runs |= {run.id: run for run in late}
        found: list[tuple[Event, Run]] = []
        for run in runs.values():
            stream.told(run, run.seq)
            where = [Cond("run_id", "=", run.id), Cond("at", ">=", since)]
            where.append(Cond("seq", "<=", run.seq))
            if run.id == place.run_id:
                where.append(Cond("seq", ">=", place.seq))
            rows = await self._engine.store.page(Event, where, order="seq", limit=_EVENTS_MAX)
            found += [(row, run) for row in rows]
        if len(found) > _EVENTS_MAX:
            # Too much to tell one by one: how everything stands says it all.
            for run in runs.values():
                yield await self._teller.snapshot(run)
            return
        found.sort(key=lambda pair: (pair[0].at, pair[1].id, pair[0].seq))
        for event, run in found:
            again = (event.run_id, event.seq) == (place.run_id, place.seq)
            for k, news in enumerate(await self._teller.tell(run, event, {})):
                if (not again or k > place.k) and stream.is_new(news):
                    yield news

    async def between(self, run: Run, seen: int, seq: int) -> AsyncIterator[News]:
        """News of a run after one number and before another."""
        for event in await events_between(self._engine, run.id, seen, seq, _EVENTS_MAX):
            for news in await self._teller.tell(run, event, {}):
                yield news

    async def moved(self, open_: set[str]) -> list[Run]:
        """Workflow runs that may have moved in another process: open ones, and new ones."""
        recent = uuid7(max(0, self._engine.store.now() - _RECENT_MS), 0)
        where = [Cond("id", ">=", recent), Cond("dialect", "=", "workflow")]
        rows = await self._engine.store.page(
            Run, where, descending=True, limit=_RUNS_MAX, heavy=False
        )
        runs = {run.id: run for run in rows if is_workflow_run(run)}
        async with self._engine.store.session() as session:
            runs |= {run.id: run for run in await session.rows(Run, sorted(open_))}
        return list(runs.values())

    async def _runs(self, client: str, where: list[Cond]) -> list[Run]:
        """Runs of one client, or of all, oldest first."""
        if client == EVERYBODY:
            any_ = Cond("dialect", "=", "workflow")
            rows = await self._engine.store.page(
                Run, [*where, any_], descending=True, limit=_RUNS_MAX, heavy=False
            )
            return [run for run in reversed(rows) if is_workflow_run(run)]
        text = msgspec.json.encode(client).decode()
        safe = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        mine = Cond("tags", "like", f'%"clientId":{safe}%')
        rows = await self._engine.store.page(
            Run, [*where, mine], descending=True, limit=_RUNS_MAX, heavy=False
        )
        return [run for run in reversed(rows) if tags_of(run).get("clientId") == client]

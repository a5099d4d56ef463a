"""What processes tell each other: short texts that come out as they went in."""

import asyncio
from typing import Any

import pytest

from windlass.engine.engine import Engine, Settings
from windlass.engine.feed import EVERY_RUN
from windlass.engine.loops.notices import NoticeListener
from windlass.engine.notices import notices_of, read
from windlass.model.rows import Attempt, LogChunk, Row, Run, Worker
from windlass.model.states import AttemptState, RunState
from windlass.model.tenants import Tenant
from windlass.ports.store import Writes
from windlass.testing.memory import MemoryDatabase, MemoryStore

pytestmark = pytest.mark.anyio


def run(number: int) -> Run:
    return Run(
        id=f"01900000-0000-7000-8000-{number:012}",
        version_id="v",
        flow_id="f",
        flow_name="flow",
        state=RunState.RUNNING,
        created_at=1,
        updated_at=1,
    )


def attempt(
    run_id: str, state: AttemptState = AttemptState.CLAIMED, cancel_at: int | None = None
) -> Attempt:
    return Attempt(
        id=f"{run_id}~a.1@1",
        task_id=f"{run_id}~a.1",
        run_id=run_id,
        number=1,
        state=state,
        queue="pull:s",
        worker_id="a worker",
        lease_until=1,
        cancel_at=cancel_at,
        claimed_at=1,
    )


def test_runs_queues_and_stops_come_out_as_they_went_in() -> None:
    rows: dict[Any, Row] = {row.id: row for row in map(run, range(400))}
    first, second, third = list(rows)[:3]
    stops = [attempt(first, cancel_at=5), attempt(second, state=AttemptState.LOST), attempt(third)]
    writes = Writes(changed={Run: rows, Attempt: {a.id: a for a in stops}})
    link, pull = (
        Worker(id=f"my {kind}", transport=kind, registered_at=1, seen_at=1)
        for kind in ("link", "pull")
    )
    writes.made = {Worker: {link.id: link, pull.id: pull}}
    notices = notices_of(writes, {"pull:b", "pull:a x"})
    assert max(len(notice) for notice in notices) < 7_900, "PostgreSQL takes no more"
    news = read([*notices, "something newer"])
    assert news.queues == {"pull:b", "pull:a x"}
    assert news.runs == set(rows)
    assert news.workers == {"my link"}
    assert news.stops == [(stops[0].id, "a worker"), (stops[1].id, "a worker")]


async def test_whoever_watches_a_run_here_hears_that_it_moved_elsewhere() -> None:
    database = MemoryDatabase(lambda: 1_000)
    here = Engine(MemoryStore(database, "here"))
    elsewhere = MemoryStore(database, "elsewhere")
    told: list[tuple[str, str]] = []
    here.feed.on_stop.append(lambda *stop: told.append(stop))
    row = run(1)
    watcher, everything, other = asyncio.Event(), asyncio.Event(), asyncio.Event()
    end = here.feed.run_ends.expect(row.id)
    held = attempt(row.id, cancel_at=5)
    writes = Writes(made={Run: {row.id: row}, Attempt: {held.id: held}})
    stop = Writes(changed={Attempt: {held.id: held}})
    writes.notices = [*notices_of(writes, ()), *notices_of(stop, ())]
    async with elsewhere.session() as session:
        await session.save(writes)
    runs = here.feed.runs
    with (
        runs.watching(row.id, watcher),
        runs.watching(EVERY_RUN, everything),
        runs.watching("another run", other),
    ):
        await asyncio.wait_for(NoticeListener(here).run_once(), 5)
    assert watcher.is_set()
    assert everything.is_set()
    assert not other.is_set()
    assert end.result() is None, "it is time to look"
    assert told == [(held.id, "a worker")]


async def test_whoever_reads_the_logs_of_a_run_here_hears_what_was_logged_elsewhere() -> None:
    database = MemoryDatabase(lambda: 1_000)
    here = Engine(MemoryStore(database, "here"))
    elsewhere = MemoryStore(database, "elsewhere")
    mine, other, told = asyncio.Event(), asyncio.Event(), list[str]()
    here.feed.on_logs.append(told.extend)
    said = LogChunk(attempt_id="r~a.1@1", number=0, run_id="r", channel="log", text="x", at=1)
    writes = Writes(made={LogChunk: {said.pk: said}})
    writes.notices = notices_of(writes, ())
    async with elsewhere.session() as session:
        await session.save(writes)
    with here.feed.logs.watching("r", mine), here.feed.logs.watching("other", other):
        await asyncio.wait_for(NoticeListener(here).run_once(), 5)
    assert mine.is_set()
    assert not other.is_set()
    assert told == ["r"]


async def test_everything_is_looked_at_now_and_then_however_much_is_heard() -> None:
    database = MemoryDatabase(lambda: 1_000)
    here = Engine(MemoryStore(database, "here"), Settings(look_s=0.05))
    elsewhere = MemoryStore(database, "elsewhere")
    database.table(Tenant)["new"] = Tenant(id="new", created_at=1)
    listener = NoticeListener(here)
    async with asyncio.timeout(5):
        while "new" not in here.tenants.names:
            async with elsewhere.session() as session:
                await session.save(Writes(notices=["runs x"]))
            await listener.run_once()
            await asyncio.sleep(0.005)


async def test_a_tenant_that_is_made_elsewhere_is_known_here_at_once() -> None:
    database = MemoryDatabase(lambda: 1_000)
    here = Engine(MemoryStore(database, "here"))
    elsewhere = Engine(MemoryStore(database, "elsewhere"))
    new = Tenant(id="new", created_at=1)
    writes = Writes(made={Tenant: {new.id: new}})
    writes.notices = notices_of(writes, ())
    async with elsewhere.store.session() as session:
        await session.save(writes)
    await asyncio.wait_for(NoticeListener(here).run_once(), 5)
    assert "new" in here.tenants.names

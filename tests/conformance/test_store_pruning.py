"""What is forgotten by age, and what is counted, is the same on every store."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from tests.conformance.rows import a_run, make
from windlass.engine import workers
from windlass.engine.engine import Engine, Settings
from windlass.engine.loops.pruning import Pruning
from windlass.model.effects import RELEASE, Effect
from windlass.model.ids import uuid7
from windlass.model.packages import Manifest
from windlass.model.rows import Run, Worker
from windlass.model.states import RunState
from windlass.model.tenants import ALL
from windlass.ports.store import Store

pytestmark = pytest.mark.anyio

DAY_MS = 86_400_000
SETTINGS = Settings(worker_kept_s=7 * 86_400.0, manifest_kept_s=7 * 86_400.0)


@asynccontextmanager
async def running(store: Store) -> AsyncGenerator[Engine, None]:
    engine = Engine(store, SETTINGS)
    passes = asyncio.ensure_future(engine.advance.run())
    try:
        yield engine
    finally:
        passes.cancel()
        await asyncio.gather(passes, return_exceptions=True)


def worker(name: str, age_ms: int, now: int, **columns: object) -> Worker:
    values = {"transport": "pull", "registered_at": 1, "seen_at": now - age_ms}
    return Worker(id=name, **{**values, **columns})  # type: ignore[arg-type]


def link(name: str, age_ms: int, now: int, *packages: str) -> Worker:
    text = msgspec.json.encode(packages).decode()
    return worker(name, age_ms, now, transport="link", services=text)


def manifest(package: str, age_ms: int, now: int) -> Manifest:
    return Manifest(package=package, manifest="{}", reported_at=now - age_ms)


async def left(store: Store) -> set[str]:
    found = {row.id for row in await store.page(Worker)}
    return found | {row.package for row in await store.page(Manifest, order="package")}


async def test_what_is_old_and_in_nobodys_hands_is_forgotten(store: Store) -> None:
    now = store.now()
    await make(
        store,
        worker("dead", 8 * DAY_MS, now),
        worker("left", 8 * DAY_MS, now, state="offline"),
        worker("late", 6 * DAY_MS, now),
        worker("here", 0, now),
        worker("server-old", 2 * DAY_MS, now, transport="control"),
        worker("server-new", 1_000, now, transport="control"),
        link("holder", 0, now, "used@1.0.0"),
        link("gone", 9 * DAY_MS, now, "lost@1.0.0"),
        manifest("used@1.0.0", 90 * DAY_MS, now),
        manifest("lost@1.0.0", 90 * DAY_MS, now),
        manifest("young@1.0.0", 1_000, now),
    )
    async with running(store) as engine:
        # In small batches: what stays must not hide what comes after it.
        pruning = Pruning(engine, batch_max=1)
        while await pruning.run_once():
            pass
        kept = {"late", "here", "server-new", "holder", "used@1.0.0", "young@1.0.0"}
        assert await left(store) == kept
        assert await pruning.run_once() == 0


async def test_a_worker_that_comes_back_meanwhile_is_kept(store: Store) -> None:
    now = store.now()
    old = worker("back", 8 * DAY_MS, now)
    await make(store, old)
    async with running(store) as engine:
        page = store.page

        async def page_then_come_back(*args: object, **more: object) -> object:
            rows: list[Any] = await page(*args, **more)  # type: ignore[arg-type]
            if old in rows:
                await workers.heartbeat(engine, "back")
            return rows

        store.page = page_then_come_back  # type: ignore[method-assign, assignment]
        assert await Pruning(engine).run_once() == 0
        assert await left(store) == {"back"}


async def test_what_a_worker_that_never_came_back_was_to_be_told_is_forgotten(store: Store) -> None:
    now = store.now()

    def told(name: str, kind: str, age_ms: int) -> Effect:
        at = now - age_ms
        return Effect(id=name, kind=kind, address="worker:w", due_at=at, created_at=at)

    old, young = 8 * DAY_MS, 6 * DAY_MS
    await make(store, told("a", RELEASE, old), told("b", RELEASE, young), told("c", "command", old))
    async with running(store) as engine:
        assert await Pruning(engine).run_once() == 1
        assert {row.id for row in await store.page(Effect)} == {"b", "c"}


async def test_workers_are_counted_by_state(store: Store) -> None:
    now = store.now()
    await make(
        store,
        worker("a", 0, now),
        worker("b", 0, now),
        worker("c", 0, now, state="draining"),
        worker("d", 0, now, state="registered"),
        worker("e", 60_000, now),
        worker("f", 60_000, now, state="draining"),
        worker("g", 60_000, now, state="offline"),
        worker("s", 0, now, transport="control"),
    )
    async with running(store) as engine:
        counts = await workers.count_workers(engine)
        assert counts == {"online": 2, "draining": 1, "registered": 1, "late": 2, "offline": 1}


async def test_the_runs_of_a_window_are_counted_by_slice_and_by_flow(store: Store) -> None:
    now, hour = store.now(), 3_600_000

    def one(number: int, age_ms: int, flow: str, state: RunState) -> Run:
        at = now - age_ms
        end = None if state is RunState.RUNNING else now
        columns = {"flow_name": flow, "state": state, "created_at": at, "finished_at": end}
        return a_run(uuid7(at, number), **columns)

    ended = RunState.SUCCEEDED
    rows = [
        one(1, 2 * hour, "old", ended),
        one(2, hour - 60_000, "a", ended),
        one(3, hour - 60_000, "a", RunState.FAILED),
        one(4, 0, "a", RunState.RUNNING),
        one(5, 0, "b", ended),
    ]
    await make(store, *rows)
    async with running(store) as engine:
        counted = await engine.window_counts.get(engine.store, ALL, hour)
        assert counted.total == 4
        assert counted.flows == {
            "a": {"succeeded": 1, "failed": 1, "running": 1},
            "b": {"succeeded": 1},
        }
        assert counted.slices == {
            0: {"succeeded": 1, "failed": 1},
            29: {"running": 1, "succeeded": 1},
        }

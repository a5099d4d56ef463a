"""Rows and writes for the store's conformance tests, each with as little said as possible."""

import asyncio
from typing import Any

from windlass.model.errors import Unavailable
from windlass.model.ids import run_of, scope_of
from windlass.model.rows import Attempt, Event, Row, Run, Task
from windlass.model.states import AttemptState, RunState, TaskState
from windlass.ports.store import Raced, Store, Writes

RUN = "0190a0a0-0000-7000-8000-00000000000a"
OTHER = "0190a0a0-0000-7000-8000-00000000000b"


def a_run(run_id: str = RUN, **columns: Any) -> Run:
    values: dict[str, Any] = {
        "id": run_id,
        "version_id": "v1",
        "flow_id": "f1",
        "flow_name": "flow",
        "state": RunState.RUNNING,
        "created_at": 1,
        "updated_at": 1,
    }
    return Run(**{**values, **columns})


def a_task(task_id: str, **columns: Any) -> Task:
    values: dict[str, Any] = {
        "id": task_id,
        "run_id": run_of(task_id),
        "scope": scope_of(task_id),
        "node": "n",
        "kind": "call",
        "state": TaskState.QUEUED,
        "created_at": 1,
    }
    return Task(**{**values, **columns})


def an_attempt(task_id: str, number: int = 1, **columns: Any) -> Attempt:
    values: dict[str, Any] = {
        "id": f"{task_id}@{number}",
        "task_id": task_id,
        "run_id": run_of(task_id),
        "number": number,
        "state": AttemptState.CLAIMED,
        "queue": "pull:q",
        "worker_id": "w",
        "lease_until": 100,
        "claimed_at": 1,
    }
    return Attempt(**{**values, **columns})


def an_event(seq: int, type_: str = "e", run_id: str = RUN, data: str = "{}") -> Event:
    return Event(run_id=run_id, seq=seq, type=type_, at=1, data=data)


def by_table(*rows: Row) -> dict[type[Row], dict[Any, Row]]:
    tables: dict[type[Row], dict[Any, Row]] = {}
    for row in rows:
        tables.setdefault(type(row), {})[row.pk] = row
    return tables


def writes(
    *made: Row,
    changed: tuple[Row, ...] = (),
    removed: dict[type[Row], set[Any]] | None = None,
    seqs: dict[str, int] | None = None,
) -> Writes:
    return Writes(
        made=by_table(*made),
        changed=by_table(*changed),
        removed=removed or {},
        seqs=seqs or {},
        notices=[],
    )


async def make(store: Store, *rows: Row) -> None:
    async with store.session() as session:
        await session.save(writes(*rows))


async def change(store: Store, *rows: Row, seq: int = 0) -> None:
    """Change rows, each run among them from the given `seq`."""
    seqs = {row.id: seq for row in rows if isinstance(row, Run)}
    async with store.session() as session:
        await session.save(writes(changed=rows, seqs=seqs))


async def all_rows(store: Store, table: type[Row]) -> list[Row]:
    return await store.page(table, order=table.KEY[0], limit=10_000)


async def refused(store: Store, what: Writes) -> None:
    """Check that a save is refused, and not as a race, which would be tried again for ever."""

    async def save() -> None:
        async with store.session() as session:
            await session.save(what)

    [result] = await asyncio.gather(save(), return_exceptions=True)
    assert isinstance(result, Exception), "the save was not refused"
    assert not isinstance(result, Raced | Unavailable)

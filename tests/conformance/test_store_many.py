"""What every store promises of saves and reads of one row, of a few and of many."""

import pytest
from msgspec.structs import replace

from tests.conformance.rows import RUN, a_run, a_task, all_rows, an_attempt, an_event, make, writes
from windlass.model.ids import run_of
from windlass.model.rows import Attempt, Event, Row, Run, Task, Timer, Variable
from windlass.model.states import AttemptState, TaskState
from windlass.ports.store import Raced, Store, Writes

pytestmark = pytest.mark.anyio

COUNTS = (1, 2, 7, 8, 33, 100)
"""On either side of where stores go from rows to sets of them, with some left over."""


def runs(count: int) -> list[str]:
    return [f"{RUN[:-4]}{number:04d}" for number in range(count)]


def changing(before: list[Row], after: list[Row]) -> Writes:
    """A save that changes some rows as the engine does: it says what they were."""
    found = writes(
        changed=tuple(after), seqs={row.id: row.seq for row in before if type(row) is Run}
    )
    for row in before:
        found.was.setdefault(type(row), {})[row.pk] = row
    return found


async def save(store: Store, found: Writes) -> None:
    async with store.session() as session:
        await session.save(found)


@pytest.mark.parametrize("count", COUNTS)
async def test_rows_are_made_and_changed_each_by_what_differs(store: Store, count: int) -> None:
    ids = runs(count)
    rows: list[Row] = [a_run(id_, seq=1, params='{"n": 1}') for id_ in ids]
    tasks = [a_task(f"{id_}~a.1", input='"in"') for id_ in ids]
    attempts = [an_attempt(f"{id_}~a.1", notes='{"n": 1}') for id_ in ids]
    before = [*rows, *tasks, *attempts]
    await make(store, *before)
    after: list[Row] = [a_run(id_, seq=2, open=n, params='{"n": 1}') for n, id_ in enumerate(ids)]
    for n, task in enumerate(tasks):
        # Some end and some go on, so that not all rows differ in the same columns.
        ends = {"state": TaskState.SUCCEEDED, "output": f"{n}", "ended_seq": 2, "finished_at": 5}
        after.append(replace(task, **(ends if n % 3 else {"priority": n + 1})))
    for attempt in attempts:
        # What came late and is not said again stays.
        after.append(replace(attempt, state=AttemptState.SUCCEEDED, finished_at=5, notes=None))
    await save(store, changing(before, after))
    assert await all_rows(store, Run) == after[:count]
    assert await all_rows(store, Task) == after[count : 2 * count]
    kept = [replace(row, notes='{"n": 1}') for row in after[2 * count :]]
    assert await all_rows(store, Attempt) == kept


@pytest.mark.parametrize("count", COUNTS)
async def test_one_stale_run_of_some_stops_all(store: Store, count: int) -> None:
    ids = runs(count)
    before: list[Row] = [a_run(id_, seq=1) for id_ in ids]
    await make(store, *before)
    found = changing(before, [a_run(id_, seq=2) for id_ in ids])
    found.seqs[ids[count // 2]] = 7
    found.made = writes(an_event(2)).made
    with pytest.raises(Raced):
        await save(store, found)
    assert await all_rows(store, Run) == before
    assert await all_rows(store, Event) == []


@pytest.mark.parametrize("count", COUNTS)
async def test_a_row_that_is_gone_stops_all(store: Store, count: int) -> None:
    tasks: list[Row] = [a_task(f"{RUN}~a.{number}") for number in range(count)]
    await make(store, *tasks[1:])
    with pytest.raises(Raced):
        await save(store, changing(tasks, [replace(row, priority=9) for row in tasks]))
    assert await all_rows(store, Task) == sorted(tasks[1:], key=lambda row: row.pk)


@pytest.mark.parametrize("count", COUNTS)
async def test_upserts_replace_what_is_there_and_make_what_is_not(store: Store, count: int) -> None:
    def keys(of: range, value: str) -> list[Row]:
        return [
            Variable(scope=RUN, key=f"k{number:04d}", run_id=RUN, value=value, seq=1)
            for number in of
        ]

    await make(store, *keys(range(count), "1"))
    await make(store, *keys(range(count // 2, 2 * count), "2"))
    found = await all_rows(store, Variable)
    assert found == [*keys(range(count // 2), "1"), *keys(range(count // 2, 2 * count), "2")]


@pytest.mark.parametrize("count", COUNTS)
async def test_rows_of_several_tables_are_read_at_once(store: Store, count: int) -> None:
    rows = [a_run(id_) for id_ in runs(count)]
    tasks = [a_task(f"{row.id}~a.1") for row in rows]
    await make(store, *rows, *tasks)
    keys = [row.id for row in rows]
    timer = f"{tasks[0].id}!retry"
    async with store.session() as session:
        found = await session.rows_of(
            {
                Run: [*keys, "none", "with \0 in it"],
                Task: [task.id for task in tasks],
                Timer: [timer],
            }
        )
        nothing = await session.rows_of({Run: [], Variable: [(RUN, "k"), ("\0", "k")]})
    assert sorted(row.pk for row in found[Run]) == keys
    assert sorted(run_of(row.pk) for row in found[Task]) == keys
    assert set(found[Run]) == set(rows)
    assert set(found[Task]) == set(tasks)
    assert found[Timer] == nothing[Run] == nothing[Variable] == []


async def test_shared_keys_of_several_scopes_are_read_at_once(store: Store) -> None:
    scopes = [RUN, f"{RUN}~s.1", f"{RUN}~s.2"]
    rows = [
        Variable(scope=scope, key=key, run_id=RUN, value="1", seq=1)
        for scope in scopes
        for key in ("a", "b")
    ]
    await make(store, *rows)
    async with store.session() as session:
        assert await session.variables(scopes[:2]) == rows[:4]
        assert await session.variables([scopes[2]]) == rows[4:]
        assert await session.variables([f"{RUN}~s"]) == []

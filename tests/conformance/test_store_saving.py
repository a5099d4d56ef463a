"""What every store promises about saving: all or nothing, in order, and ends that are final."""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.conformance.conftest import Open
from tests.conformance.rows import (
    OTHER,
    RUN,
    a_run,
    a_task,
    all_rows,
    an_attempt,
    an_event,
    change,
    make,
    refused,
    writes,
)
from windlass.model.patches import GraphPatch
from windlass.model.rows import (
    Attempt,
    Checkpoint,
    Event,
    Flow,
    Idempotency,
    Row,
    Run,
    Task,
    Timer,
    Variable,
    Version,
    Worker,
)
from windlass.model.states import AttemptState, RunState, TaskState
from windlass.ports.store import Cond, Raced, Store, Writes

pytestmark = pytest.mark.anyio

T1 = f"{RUN}~a.1"


async def test_a_save_writes_every_table_and_other_connections_see_it(open_store: Open) -> None:
    one, two = await open_store(), await open_store()
    rows = (
        Flow(id="f", name="flow", created_at=1),
        Version(id="v", flow_id="f", number=1, source="{}", created_at=1),
        a_run(),
        a_task(T1),
        an_attempt(T1),
        Variable(scope=RUN, key="k", run_id=RUN, value="1", seq=1),
        Timer(id=f"{T1}!retry", run_id=RUN, task_id=T1, kind="retry", due_at=5),
        Checkpoint(id=f"{T1}!0", run_id=RUN, task_id=T1, flow_name="flow", node="n", created_at=1),
        an_event(1),
        Idempotency(key="i", run_id=RUN, request_hash="h", created_at=1),
        Worker(id="w", registered_at=1, seen_at=1),
    )
    await make(one, *rows)
    async with two.session() as session:
        for row in rows:
            assert await session.rows(type(row), [row.pk]) == [row]


async def test_a_save_on_a_stale_run_is_raced_and_changes_nothing(store: Store) -> None:
    await make(store, a_run(seq=3))
    stale = writes(a_task(T1), an_event(5), changed=(a_run(seq=5, open=1),), seqs={RUN: 4})
    with pytest.raises(Raced):
        async with store.session() as session:
            await session.save(stale)
    assert await all_rows(store, Run) == [a_run(seq=3)]
    assert await all_rows(store, Task) == await all_rows(store, Event) == []


async def test_one_stale_run_of_two_stops_both(store: Store) -> None:
    await make(store, a_run(seq=1), a_run(OTHER, seq=1))
    both = writes(changed=(a_run(seq=2), a_run(OTHER, seq=2)), seqs={RUN: 1, OTHER: 0})
    with pytest.raises(Raced):
        async with store.session() as session:
            await session.save(both)
    assert [run.seq for run in (await store.page(Run))] == [1, 1]


@pytest.mark.parametrize(
    "row",
    [
        a_run(),
        a_task(T1),
        an_attempt(T1),
        an_event(1),
        Idempotency(key="i", run_id=RUN, request_hash="h", created_at=1),
        Version(id="v", flow_id="f", number=1, source="{}", created_at=1),
    ],
    ids=lambda row: type(row).__name__,
)
async def test_making_a_row_that_exists_is_raced(
    store: Store, row: Run | Task | Attempt | Event | Idempotency | Version
) -> None:
    await make(store, row)
    with pytest.raises(Raced):
        await make(store, Flow(id="f2", name="beside", created_at=1), row)
    assert await all_rows(store, Flow) == []


async def test_a_version_number_is_taken_once_per_flow(store: Store) -> None:
    version = Version(id="v1", flow_id="f", number=1, source="{}", created_at=1)
    await make(store, version, replace(version, id="v2", flow_id="g"))
    with pytest.raises(Raced):
        await make(store, replace(version, id="v3"))


async def test_changing_a_row_that_is_gone_is_raced(store: Store) -> None:
    await make(store, a_run())
    with pytest.raises(Raced):
        await change(store, a_run(seq=1), a_task(T1))
    assert (await store.page(Run))[0].seq == 0


async def test_upserting_tables_replace_and_keep_what_is_written_once(store: Store) -> None:
    worker = Worker(id="w", registered_at=1, seen_at=1)
    variable = Variable(scope=RUN, key="k", run_id=RUN, value="1", seq=1)
    timer = Timer(id="t!x", run_id=RUN, task_id="t", kind="x", due_at=1)
    await make(store, worker, variable, timer)
    later = replace(worker, registered_at=9, seen_at=9)
    await make(store, later, replace(variable, value="2"), replace(timer, due_at=9))
    assert await all_rows(store, Worker) == [replace(worker, seen_at=9)]
    assert await all_rows(store, Variable) == [replace(variable, value="2")]
    assert await all_rows(store, Timer) == [replace(timer, due_at=9)]


async def test_columns_written_once_stay_whatever_an_update_carries(store: Store) -> None:
    await make(store, a_run(params='{"a":1}'), a_task(T1, input="[1]"), an_attempt(T1))
    await change(
        store,
        a_run(seq=1, params="{}", flow_name="other", created_at=7, node="n2"),
        a_task(T1, input="[1]", node="m", made_seq=9, state=TaskState.RUNNING),
        an_attempt(T1, lease_until=1, holder="x", state=AttemptState.RUNNING),
    )
    assert await all_rows(store, Run) == [a_run(seq=1, params='{"a":1}', node="n2")]
    assert await all_rows(store, Task) == [a_task(T1, input="[1]", state=TaskState.RUNNING)]
    assert await all_rows(store, Attempt) == [an_attempt(T1, state=AttemptState.RUNNING)]


async def test_patches_of_a_graph_are_kept_once_for_each_revision(store: Store) -> None:
    first = GraphPatch(run_id=RUN, rev=1, patch='{"reason":"one"}', created_at=1)
    second = GraphPatch(run_id=RUN, rev=2, patch='{"reason":"two"}', created_at=2)
    await make(store, a_run(graph_rev=1), first)
    await raced(store, writes(replace(first, patch="{}")))
    moved = a_run(seq=1, graph_rev=2)
    await raced(store, writes(second, changed=(moved,), seqs={RUN: 7}))
    async with store.session() as session:
        await session.save(writes(second, changed=(moved,), seqs={RUN: 0}))
    async with store.session() as session:
        keys = [(RUN, 1), (RUN, 2), (RUN, 3), (OTHER, 1)]
        rows = await session.rows(GraphPatch, keys)
    assert sorted(rows, key=lambda row: row.rev) == [first, second]
    where = [Cond("run_id", "=", RUN), Cond("rev", ">", 1)]
    assert await store.page(GraphPatch, where, order="rev") == [second]
    [run] = await all_rows(store, Run)
    assert run == a_run(seq=1, graph_rev=2)


async def raced(store: Store, what: Writes) -> None:
    with pytest.raises(Raced):
        async with store.session() as session:
            await session.save(what)


async def test_a_late_column_is_written_when_it_comes_and_stays_until_it_comes_again(
    store: Store,
) -> None:
    await make(store, a_run(), a_task(T1, input=None))
    await change(store, a_run(seq=1), a_task(T1, input="[1]"))
    await change(store, a_run(seq=2), a_task(T1, input=None, step=5), seq=1)
    assert await all_rows(store, Task) == [a_task(T1, input="[1]")]
    # A superseded task that is visited again begins with another input.
    await change(store, a_run(seq=3), a_task(T1, input="[2]"), seq=2)
    assert await all_rows(store, Task) == [a_task(T1, input="[2]")]


async def test_removing_needs_no_row(store: Store) -> None:
    await make(store, Variable(scope=RUN, key="k", run_id=RUN, value="1", seq=1))
    async with store.session() as session:
        await session.save(
            writes(removed={Variable: {(RUN, "k"), (RUN, "absent")}, Timer: {"absent"}})
        )
    assert await all_rows(store, Variable) == []


ENDS = [
    (a_run(state=RunState.SUCCEEDED, finished_at=1), a_run(state=RunState.RUNNING)),
    (a_run(state=RunState.FAILED, finished_at=1), a_run(state=RunState.SUCCEEDED, finished_at=1)),
    (a_run(state=RunState.CANCELLED, finished_at=1), a_run(state=RunState.CANCELLING)),
    *(
        (a_task(T1, state=TaskState(state)), a_task(T1))
        for state in ("succeeded", "failed", "skipped")
    ),
    (a_task(T1, state=TaskState.CANCELLED), a_task(T1, state=TaskState.SUCCEEDED)),
    (a_task(T1, state=TaskState.SUPERSEDED), a_task(T1, state=TaskState.RUNNING)),
    *(
        (an_attempt(T1, state=AttemptState(state)), an_attempt(T1, state=AttemptState.RUNNING))
        for state in ("succeeded", "failed", "timed_out", "lost", "cancelled")
    ),
    (an_attempt(T1, state=AttemptState.LOST), an_attempt(T1, state=AttemptState.SUCCEEDED)),
]


@pytest.mark.parametrize(("old", "new"), ENDS, ids=lambda row: f"{type(row).__name__} {row.state}")
async def test_the_database_itself_refuses_to_leave_an_end(
    store: Store, old: Run | Task | Attempt, new: Run | Task | Attempt
) -> None:
    await make(store, old)
    if isinstance(new, Run):
        new = replace(new, seq=1)
    beside = Flow(id="f", name="beside", created_at=1)
    await refused(store, writes(beside, changed=(new,), seqs={RUN: 0}))
    assert await all_rows(store, type(old)) == [old]
    assert await all_rows(store, Flow) == []


async def test_an_end_is_left_with_a_new_generation(store: Store) -> None:
    ended = a_run(state=RunState.FAILED, finished_at=1)
    await make(store, ended, a_task(T1, state=TaskState.FAILED))
    reopened = a_run(seq=1, generation=1), a_task(T1, generation=1)
    await change(store, *reopened)
    assert [*await all_rows(store, Run), *await all_rows(store, Task)] == [*reopened]


async def test_an_ended_row_may_change_elsewhere(store: Store) -> None:
    await make(store, a_task(T1, state=TaskState.SUCCEEDED))
    await change(store, a_task(T1, state=TaskState.SUCCEEDED, open=0, error='"x"'))
    assert (await store.page(Task))[0].error == '"x"'


@pytest.mark.parametrize(
    "row",
    [
        a_run(open=-1),
        a_run(active=-1),
        a_run(state=RunState.SUCCEEDED),
        a_run(finished_at=1),
        a_task(T1, open=-1),
    ],
    ids=["open", "active", "ended without a time", "a time without an end", "task open"],
)
async def test_counters_and_ends_are_checked_by_the_database(store: Store, row: Run | Task) -> None:
    await refused(store, writes(row))
    assert await all_rows(store, type(row)) == []


async def test_large_payloads_and_all_of_unicode_come_back_as_they_went(store: Store) -> None:
    nasty = '{"é":"\U0001f9ed\U0010fffd ﷽ ‮ \\u0000 \\n \'; drop table runs; --"}'
    large = '"' + "x" * 3_000_000 + '"'
    await make(store, a_run(params=nasty), a_task(T1, input=large, error=nasty))
    assert await all_rows(store, Run) == [a_run(params=nasty)]
    assert await all_rows(store, Task) == [a_task(T1, input=large, error=nasty)]


async def test_a_session_that_fails_leaves_the_store_usable(store: Store) -> None:
    async def fail() -> None:
        async with store.session() as session:
            await session.rows(Run, [RUN])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    await make(store, a_run())
    assert await all_rows(store, Run) == [a_run()]


async def test_a_save_of_nothing_is_fine(store: Store) -> None:
    async with store.session() as session:
        await session.save(writes())
    async with store.session() as session:
        await session.save(writes(removed={Timer: set()}))


async def test_a_row_that_changed_since_it_was_read_is_not_overwritten(store: Store) -> None:
    read = Worker(id="w", registered_at=1, seen_at=1)
    await make(store, read)

    async def save(new: Worker, stands: Worker) -> None:
        changed: dict[type[Row], dict[Any, Row]] = {Worker: {"w": new}}
        async with store.session() as session:
            await session.save(Writes(changed=changed, stands={Worker: {"w": stands}}))

    gone = replace(read, state="offline")
    await save(gone, read)
    with pytest.raises(Raced, match="changed since"):
        await save(replace(read, seen_at=9), read)
    assert await store.page(Worker) == [gone]
    await save(replace(gone, seen_at=9), gone)
    assert [row.seen_at for row in await store.page(Worker)] == [9]
    with pytest.raises(Raced):
        await save(replace(read, id="w"), replace(read, id="w", load=5))

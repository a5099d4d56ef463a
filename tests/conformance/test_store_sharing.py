"""What every store promises to several processes: claims, leases, races, notices, one secret."""

import asyncio

import pytest

from tests.conformance.conftest import Open
from tests.conformance.rows import OTHER, RUN, a_run, a_task, an_attempt, change, make, writes
from windlass.model.rows import Attempt, Run, Task, Worker
from windlass.model.states import AttemptState, TaskState
from windlass.ports.store import Cond, Raced, Store, Writes

pytestmark = pytest.mark.anyio


async def test_queued_tasks_come_by_priority_then_age_and_no_more_than_wanted(
    store: Store,
) -> None:
    spec = [("a", 0, 30), ("b", 5, 40), ("c", 0, 10), ("d", 5, 20), ("e", 0, 10)]
    await make(
        store,
        *(
            a_task(f"{RUN}~{name}.1", queue="pull:q", priority=priority, ready_at=ready)
            for name, priority, ready in spec
        ),
        a_task(f"{RUN}~other.1", queue="pull:other", ready_at=1),
        a_task(f"{RUN}~busy.1", queue="pull:q", ready_at=1, state=TaskState.RUNNING),
        a_task(f"{RUN}~judged.1", queue="pull:v", ready_at=1, state=TaskState.VERIFYING),
        a_task(f"{RUN}~held.1", queue=None, ready_at=1, state=TaskState.VERIFYING),
    )

    async def found(**wants: int) -> str:
        async with store.session() as session:
            tasks = await session.queued({f"pull:{q}": n for q, n in wants.items()})
        return "".join(task.id[len(RUN) + 1] for task in tasks)

    assert await found(q=9) == "dbcea"
    assert await found(q=3) == "dbc"
    assert await found(q=1, other=5) == "do"
    assert await found(v=5) == "j", "what waits for a verdict, and nobody has in hand"
    assert await found(nobody=5) == await found() == ""
    many = {f"none{number}": 1 for number in range(40)}
    assert await found(**many, q=2, other=1) == "dbo"


async def test_a_process_that_begins_goes_on_from_the_newest_time_any_of_them_stored(
    open_store: Open,
) -> None:
    first = await open_store()
    ahead = first.now() + 400 * 24 * 3_600_000
    await make(first, Worker(id="w", registered_at=1, seen_at=ahead))
    assert (await open_store()).now() >= ahead, "the clock was set back by more than a year"


async def test_renewing_extends_what_is_held_and_tells_who_should_stop(store: Store) -> None:
    now = store.now()
    ids = [f"{RUN}~{name}.1" for name in "abcd"]
    soon, later, latest = now + 60_000, now + 90_000, now + 99_000
    await make(
        store,
        an_attempt(ids[0], lease_until=soon),
        an_attempt(ids[1], lease_until=latest, state=AttemptState.RUNNING, cancel_at=5),
        an_attempt(ids[2], lease_until=soon, state=AttemptState.LOST),
        an_attempt(ids[3], lease_until=now - 1),
    )
    wanted = [f"{task}@1" for task in ids]
    held = await store.renew([*wanted, "absent@1"], later)
    assert held == {wanted[0]: False, wanted[1]: True}, "one that has run out is nobody's"
    leases = [attempt.lease_until for attempt in await store.page(Attempt)]
    assert leases == [later, latest, soon, now - 1], "a lease never gets shorter"
    assert await store.renew([], later) == {}
    assert await store.renew(wanted, latest, "somebody else") == {}
    assert await store.renew(wanted[:1], latest, "w") == {wanted[0]: False}


async def test_a_change_of_an_attempt_does_not_undo_a_renewal(store: Store) -> None:
    task = f"{RUN}~a.1"
    now = store.now()
    await make(store, an_attempt(task, lease_until=now + 60_000))
    await store.renew([f"{task}@1"], now + 90_000)
    await change(store, an_attempt(task, lease_until=now + 60_000, cancel_at=1))
    [attempt] = await store.page(Attempt)
    assert (attempt.lease_until, attempt.cancel_at) == (now + 90_000, 1)


async def test_a_lease_that_was_renewed_since_it_was_read_is_not_taken_away(store: Store) -> None:
    task = f"{RUN}~a.1"
    now = store.now()
    await make(store, an_attempt(task, lease_until=now + 60_000))

    async def expire(at: int) -> None:
        lost = an_attempt(task, state=AttemptState.LOST)
        async with store.session() as session:
            await session.save(Writes(changed={Attempt: {lost.id: lost}}, expired={lost.id: at}))

    await store.renew([f"{task}@1"], now + 90_000)
    with pytest.raises(Raced, match="renewed"):
        await expire(now + 60_001)
    assert [attempt.state for attempt in await store.page(Attempt)] == [AttemptState.CLAIMED]
    await expire(now + 90_001)
    assert [attempt.state for attempt in await store.page(Attempt)] == [AttemptState.LOST]


async def test_another_process_hears_of_a_commit_within_a_moment(open_store: Open) -> None:
    one, two = await open_store(), await open_store()
    async with asyncio.timeout(5):
        # The first answer may only say that listening has begun.
        heard = asyncio.ensure_future(two.notices())
        await asyncio.sleep(0.3)
        if heard.done():
            heard = asyncio.ensure_future(two.notices())
            await asyncio.sleep(0.1)
        began = asyncio.get_running_loop().time()
        row = a_run()
        async with one.session() as session:
            await session.save(Writes(made={Run: {row.id: row}}, notices=[f"runs {row.id}"]))
        told = await heard
        assert asyncio.get_running_loop().time() - began < 0.25
    assert told in ([], [f"runs {row.id}"]), "what moved, or that something did"


async def claim_some(store: Store, rounds: int) -> list[str]:
    """Claim queued tasks one at a time, as a pass does; what raced is tried again."""
    mine: list[str] = []
    for _ in range(rounds):
        try:
            async with store.session() as session:
                found = await session.queued({"pull:q": 1})
                if not found:
                    await asyncio.sleep(0)
                    continue
                task = found[0]
                [run] = await session.rows(Run, [task.run_id])
                await asyncio.sleep(0)
                await session.save(
                    writes(
                        an_attempt(task.id),
                        changed=(
                            a_task(task.id, queue="pull:q", state=TaskState.RUNNING, attempts=1),
                            a_run(task.run_id, seq=run.seq + 1),
                        ),
                        seqs={task.run_id: run.seq},
                    )
                )
            mine.append(task.id)
        except Raced:
            continue
    return mine


async def test_two_processes_never_claim_one_task(open_store: Open) -> None:
    one, two = await open_store(), await open_store()
    runs = [RUN, OTHER]
    tasks = [a_task(f"{runs[n % 2]}~t{n}.1", queue="pull:q", ready_at=n) for n in range(20)]
    await make(one, a_run(), a_run(OTHER), *tasks)
    claimed = await asyncio.gather(*(claim_some(store, 40) for store in (one, two)))
    assert sorted(claimed[0] + claimed[1]) == sorted(task.id for task in tasks)
    assert not await one.page(Task, [Cond("state", "=", "queued")])
    assert [run.seq for run in await two.page(Run)] == [10, 10]


async def add_one(store: Store, rounds: int) -> int:
    """Raise a run's counter by compare and set; returns how often that succeeded."""
    done = 0
    for _ in range(rounds):
        try:
            async with store.session() as session:
                [run] = await session.rows(Run, [RUN])
                new = a_run(seq=run.seq + 1, made=run.made + 1)
                await session.save(writes(changed=(new,), seqs={RUN: run.seq}))
            done += 1
        except Raced:
            continue
    return done


async def test_no_update_is_lost_between_processes(open_store: Open) -> None:
    one, two = await open_store(), await open_store()
    await make(one, a_run())
    done = await asyncio.gather(*(add_one(store, 20) for store in (one, two, one, two)))
    [run] = await one.page(Run)
    assert run.made == run.seq == sum(done) >= 20


async def test_locked_runs_cross_over_without_standing_still(open_store: Open) -> None:
    one, two = await open_store(), await open_store()
    await make(one, a_run(), a_run(OTHER))

    async def move(store: Store, first: str, second: str) -> None:
        while True:
            try:
                async with store.session() as session:
                    await session.lock_runs([first])
                    await asyncio.sleep(0.02)
                    runs = {run.id: run.seq for run in await session.rows(Run, [first, second])}
                    changed = tuple(a_run(run_id, seq=seq + 1) for run_id, seq in runs.items())
                    await session.save(writes(changed=changed, seqs=runs))
                return
            except Raced:
                await asyncio.sleep(0)

    async with asyncio.timeout(20):
        await asyncio.gather(move(one, RUN, OTHER), move(two, OTHER, RUN))
    assert [run.seq for run in await one.page(Run)] == [2, 2]


async def test_the_secret_is_the_same_for_all(open_store: Open) -> None:
    one, two = await open_store(), await open_store()
    secret = await one.secret()
    assert secret == await two.secret()
    assert len(bytes.fromhex(secret)) == 32


async def test_time_moves_forward(store: Store) -> None:
    times = [store.now() for _ in range(1000)]
    assert times == sorted(times)
    assert times[0] > 1_600_000_000_000

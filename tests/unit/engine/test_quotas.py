"""Quotas: what a tenant and its projects may have at once, of runs, attempts and pods."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from windlass.engine import flows, runs
from windlass.engine.forks import fork_run
from windlass.engine.limits.bucket import Bucket
from windlass.engine.limits.changing import remove_rule, set_rule
from windlass.engine.why import why
from windlass.model.errors import BadRequest
from windlass.model.limits import (
    Limit,
    LimitRule,
    LimitUse,
    read_held,
    read_limits,
    write_held,
    write_limits,
)
from windlass.model.pods import PodSpec
from windlass.model.quotas import QueuedRun, wants_of, with_memory
from windlass.model.rows import Attempt, Run
from windlass.model.states import ATTEMPT_LIVE, RUN_ENDED, RunState
from windlass.testing.local import LocalEngine, local_engine
from windlass.worker import Worker

ASK = {"start": "ask", "nodes": {"ask": {"kind": "approval", "params": {"prompt": "?"}}}}
CALL = {
    "start": "a",
    "nodes": {"a": {"kind": "executor", "exec_type": "queue", "service": "work"}},
}


def rule(pattern: str, most: int | None, **columns: Any) -> LimitRule:
    id_ = f"default {pattern}"
    return LimitRule(id=id_, tenant="default", pattern=pattern, max=most, **columns)


def state(engine: LocalEngine, run_id: str) -> RunState:
    return engine.database.table(Run)[run_id].state


def in_use(engine: LocalEngine, key: str) -> int:
    return engine.database.table(LimitUse)[f"default {key}"].in_use


async def begin(engine: LocalEngine, definition: Any, project: str = "", priority: int = 0) -> str:
    published = await flows.publish(engine.engine, "test", definition)
    started = await runs.start_run(
        engine.engine, published.target, "{}", project=project, priority=priority
    )
    await asyncio.sleep(0.002)  # age tells them apart
    return started.run.id


async def answer(engine: LocalEngine, run_id: str) -> None:
    await runs.answer(engine.engine, f"{run_id}~ask.1!0", "approved")


async def line(engine: LocalEngine, run_id: str) -> str:
    return (await why(engine.engine, await runs.get_run(engine.engine, run_id))).line


async def until(engine: LocalEngine, condition: Callable[[], bool]) -> None:
    """Wait for the commit that makes something true."""
    moved = asyncio.Event()
    engine.database.watchers.append(lambda commit: moved.set())
    async with asyncio.timeout(5):
        while not condition():
            moved.clear()
            await moved.wait()


@pytest.mark.anyio
async def test_runs_wait_to_begin_and_begin_in_their_turn() -> None:
    async with local_engine({}, clock="real") as engine:
        await set_rule(engine.engine, rule("quota:runs", 2))
        ids = [await begin(engine, ASK) for _ in range(4)]
        urgent = await begin(engine, ASK, priority=5)
        assert [state(engine, id_) for id_ in ids] == [RunState.WAITING] * 2 + [RunState.QUEUED] * 2
        assert await line(engine, ids[3]) == (
            "waits to begin: quota of tenant default: 2 of 2 runs in use, 2 ahead of you"
        )
        await answer(engine, ids[0])
        await until(engine, lambda: state(engine, urgent) is RunState.WAITING)
        assert state(engine, ids[2]) is RunState.QUEUED
        for id_ in (ids[1], urgent):
            await answer(engine, id_)
        await until(engine, lambda: state(engine, ids[3]) is RunState.WAITING)
        for id_ in ids[2:]:
            await answer(engine, id_)
        await until(engine, lambda: all(state(engine, id_) in RUN_ENDED for id_ in ids))
        assert in_use(engine, "quota:runs") == 0
        assert not engine.database.table(QueuedRun)


@pytest.mark.anyio
async def test_a_project_s_quota_holds_nobody_else_up() -> None:
    async with local_engine({}, clock="real") as engine:
        await set_rule(engine.engine, rule("quota:runs", 3))
        await set_rule(engine.engine, rule("quota:runs@ml", 1))
        ml = [await begin(engine, ASK, "ml") for _ in range(3)]
        other = [await begin(engine, ASK, "web"), await begin(engine, ASK)]
        assert [state(engine, id_) for id_ in ml] == [RunState.WAITING] + [RunState.QUEUED] * 2
        assert [state(engine, id_) for id_ in other] == [RunState.WAITING] * 2
        assert (in_use(engine, "quota:runs"), in_use(engine, "quota:runs@ml")) == (3, 1)
        assert "quota of project ml: 1 of 1 runs in use, 1 ahead" in await line(engine, ml[2])
        late = await begin(engine, ASK)
        assert "quota of tenant default" in await line(engine, late)
        await answer(engine, ml[0])
        # One place of each is free: the older one has it.
        await until(engine, lambda: state(engine, ml[1]) is RunState.WAITING)
        assert state(engine, late) is RunState.QUEUED
        await answer(engine, other[0])
        await until(engine, lambda: state(engine, late) is RunState.WAITING)
        assert (in_use(engine, "quota:runs"), in_use(engine, "quota:runs@ml")) == (3, 1)


@pytest.mark.anyio
async def test_a_run_that_ends_at_once_gives_its_place_back() -> None:
    each = {"kind": "foreach", "exec_type": "queue", "service": "work"}
    flow = {"start": "c", "nodes": {"c": {**each, "prep": {"input_key": "$params.none"}}}}
    async with local_engine({}, clock="real") as engine:
        await set_rule(engine.engine, rule("quota:runs", 1))
        ids = [await begin(engine, flow) for _ in range(3)]
        await until(engine, lambda: all(state(engine, id_) in RUN_ENDED for id_ in ids))
        assert in_use(engine, "quota:runs") == 0


@pytest.mark.anyio
async def test_a_queued_run_can_be_cancelled_and_moved_up() -> None:
    async with local_engine({}, clock="real") as engine:
        await set_rule(engine.engine, rule("quota:runs", 1))
        first, second, third = [await begin(engine, ASK) for _ in range(3)]
        await runs.cancel(engine.engine, second)
        assert state(engine, second) is RunState.CANCELLED
        fourth = await begin(engine, ASK)
        await runs.set_priority(engine.engine, fourth, 9)
        await answer(engine, first)
        await until(engine, lambda: state(engine, fourth) is RunState.WAITING)
        assert state(engine, third) is RunState.QUEUED
        await answer(engine, fourth)
        await until(engine, lambda: state(engine, third) is RunState.WAITING)
        assert in_use(engine, "quota:runs") == 1


@pytest.mark.anyio
async def test_a_quota_that_is_raised_or_removed_lets_runs_begin() -> None:
    async with local_engine({}, clock="real") as engine:
        await set_rule(engine.engine, rule("quota:runs", 1))
        ids = [await begin(engine, ASK) for _ in range(4)]
        await set_rule(engine.engine, rule("quota:runs", 2))
        await until(engine, lambda: state(engine, ids[1]) is RunState.WAITING)
        assert state(engine, ids[2]) is RunState.QUEUED
        await remove_rule(engine.engine, "quota:runs")
        await until(engine, lambda: all(state(engine, id_) is RunState.WAITING for id_ in ids))
        for id_ in ids:
            await answer(engine, id_)
        await until(engine, lambda: in_use(engine, "quota:runs") == 0)


@pytest.mark.anyio
async def test_a_run_that_goes_on_again_or_is_forked_is_counted() -> None:
    def work(value: Any) -> str:
        raise ValueError("no")

    worker = Worker()
    worker.service("work")(work)
    async with local_engine(worker, clock="real") as engine:
        await set_rule(engine.engine, rule("quota:runs", 5))
        flow = {**CALL, "on_failure": "fail"}
        run_id = await begin(engine, flow)
        await until(engine, lambda: state(engine, run_id) is RunState.FAILED)
        assert in_use(engine, "quota:runs") == 0
        await runs.retry(engine.engine, run_id, None, False)
        await until(engine, lambda: state(engine, run_id) is RunState.FAILED)
        assert in_use(engine, "quota:runs") == 0
        source = await runs.get_run(engine.engine, run_id)
        forked = await fork_run(engine.engine, source, f"{run_id}~a.1")
        await until(engine, lambda: state(engine, forked.run.id) is RunState.FAILED)
        assert in_use(engine, "quota:runs") == 0


@pytest.mark.anyio
async def test_attempts_of_a_project_are_bounded() -> None:
    go = asyncio.Event()
    out, most = 0, 0

    async def work(value: Any, params: dict[str, Any]) -> str:
        nonlocal out, most
        out += 1
        most = max(most, out)
        await go.wait()
        out -= 1
        return "done"

    async with local_engine({"work": work}, clock="real") as engine:

        def live() -> int:
            attempts = engine.database.table(Attempt).values()
            return sum(attempt.state in ATTEMPT_LIVE for attempt in attempts)

        await set_rule(engine.engine, rule("quota:tasks@ml", 2))
        ml = [await begin(engine, CALL, "ml") for _ in range(4)]
        free = [await begin(engine, CALL, "web") for _ in range(2)]
        await until(engine, lambda: live() == 4)
        assert in_use(engine, "quota:tasks@ml") == 2
        assert "quota of project ml: 2 of 2 tasks in use" in await line(engine, ml[3])
        go.set()
        await until(engine, lambda: all(state(engine, id_) in RUN_ENDED for id_ in [*ml, *free]))
        assert most <= 4
        assert in_use(engine, "quota:tasks@ml") == 0


def cpu(in_use: int, parked: int = 0) -> Bucket:
    row = LimitUse(id="default quota:cpu", tenant="default", key="quota:cpu", max=4000)
    return Bucket(replace(row, in_use=in_use, parked=parked), now=0)


def test_of_amounts_who_wants_much_is_not_passed_by_those_behind() -> None:
    bucket = cpu(in_use=2500)
    assert bucket.has_room(Limit("quota:cpu", estimate=1500))
    assert not bucket.has_room(Limit("quota:cpu", estimate=2000))
    assert not bucket.has_room(Limit("quota:cpu", estimate=500))
    assert bucket.next_at() is None  # only the end of another helps


def test_who_wants_more_than_there_may_ever_be_holds_nobody_up() -> None:
    bucket = cpu(in_use=0)
    assert not bucket.has_room(Limit("quota:cpu", estimate=5000))
    assert bucket.has_room(Limit("quota:cpu", estimate=4000))


def test_an_amount_is_given_back_as_it_was_taken() -> None:
    bucket = cpu(in_use=0)
    amount = bucket.take_for(Limit("quota:cpu", estimate=1500))
    assert amount == 1500
    assert bucket.in_use == 1500
    assert read_held(write_held({"default quota:cpu": amount})) == {"default quota:cpu": 1500}
    bucket.give_back(amount)
    assert bucket.in_use == 0


def test_what_a_pod_takes_is_counted_in_thousandths_and_mebibytes() -> None:
    pod = PodSpec(image="busybox", cpu="1500m", memory="1.5Gi", gpu=1)
    assert wants_of(pod) == [
        Limit("quota:cpu", estimate=1500),
        Limit("quota:memory", estimate=1536),
        Limit("quota:gpu", estimate=1),
    ]
    grown = read_limits(with_memory(write_limits(wants_of(pod)), 2.0))
    assert [limit.estimate for limit in grown] == [1500, 3072, 1]
    assert wants_of(PodSpec(image="busybox")) == []


@pytest.mark.parametrize(
    ("pattern", "columns", "said"),
    [
        ("quota:rows", {"max": 3}, "there are quota:runs"),
        ("quota:*", {"max": 3}, "there are quota:runs"),
        ("quota:runs@No Name", {"max": 3}, "cannot be a project's name"),
        ("quota:cpu", {"rate": 3}, "give max"),
        ("quota:memory", {"max": 3, "rate": 2}, "no rate"),
    ],
)
@pytest.mark.anyio
async def test_a_quota_that_makes_no_sense_is_refused(
    pattern: str, columns: dict[str, int], said: str
) -> None:
    async with local_engine({}, clock="real") as engine:
        with pytest.raises(BadRequest, match=said):
            await set_rule(engine.engine, replace(rule(pattern, None), **columns))
        assert not engine.database.table(LimitRule)


@pytest.mark.anyio
async def test_a_project_s_name_is_checked() -> None:
    async with local_engine({}, clock="real") as engine:
        with pytest.raises(BadRequest, match="cannot be a project's name"):
            await begin(engine, ASK, "My Project")

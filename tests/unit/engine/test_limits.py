"""Limits by key: never more than they allow, in order, and nobody else is held up."""

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from windlass.model.limits import LimitUse
from windlass.model.rows import Attempt
from windlass.model.states import RunState, TaskState
from windlass.testing.local import LocalEngine, local_engine


def flow(limits: list[dict[str, Any]], service: str = "pay") -> dict[str, Any]:
    node = {"kind": "executor", "exec_type": "queue", "service": service, "limits": limits}
    return {"start": "a", "nodes": {"a": node}}


class Calls:
    """A service that is called, and how many calls are out at once."""

    def __init__(self) -> None:
        self.out: Counter[str] = Counter()
        self.most: Counter[str] = Counter()
        self.order: list[Any] = []
        self.go = asyncio.Event()
        self.called = asyncio.Event()

    async def pay(self, input_: Any, params: dict[str, Any]) -> str:
        key = params.get("customer", "")
        self.out[key] += 1
        self.most[key] = max(self.most[key], self.out[key])
        self.order.append(params.get("n"))
        self.called.set()
        await self.go.wait()
        self.out[key] -= 1
        return "paid"


def uses(engine: LocalEngine) -> dict[str, LimitUse]:
    return {use.key: use for use in engine.database.table(LimitUse).values()}


def pays(value: Any, params: dict[str, Any]) -> str:
    return "paid"


async def until(engine: LocalEngine, condition: Callable[[], bool]) -> None:
    """Wait for the commit that makes something true."""
    moved = asyncio.Event()
    engine.database.watchers.append(lambda commit: moved.set())
    async with asyncio.timeout(5):
        while not condition():
            moved.clear()
            await moved.wait()


def parked(engine: LocalEngine, limit: str) -> int:
    return len(list(engine.database.parked(limit)))


@pytest.mark.anyio
async def test_no_more_attempts_are_out_than_a_key_allows_and_all_get_their_turn_in_order() -> None:
    calls = Calls()
    definition = flow([{"key": "bank:$params.customer", "max": 2}])
    async with local_engine({"pay": calls.pay}, clock="real") as engine:
        ids = [
            await engine.start(definition, {"customer": customer, "n": n})
            for n in range(6)
            for customer in ("a", "b")
        ]
        await until(engine, lambda: parked(engine, "default bank:a") == 4)
        assert uses(engine)["bank:a"].in_use == 2
        assert uses(engine)["bank:a"].parked == 4
        calls.go.set()
        for run_id in ids:
            assert (await engine.ended(run_id)).state is RunState.SUCCEEDED
        assert calls.most == {"a": 2, "b": 2}
        assert calls.order == sorted(calls.order)
        assert {use.in_use for use in uses(engine).values()} == {0}
        assert {use.parked for use in uses(engine).values()} == {0}


@pytest.mark.anyio
async def test_what_waits_for_a_limit_does_not_hold_up_others_in_its_queue() -> None:
    calls = Calls()
    definition = flow([{"key": "bank:$params.customer", "max": 1}])
    async with local_engine({"pay": calls.pay}, clock="real") as engine:
        for n in range(40):  # more than there are slots
            await engine.start(definition, {"customer": "busy", "n": n})
        other = await engine.start(definition, {"customer": "other", "n": 100})
        await until(engine, lambda: uses(engine).get("bank:other") is not None)
        assert uses(engine)["bank:other"].in_use == uses(engine)["bank:busy"].in_use == 1
        calls.go.set()
        await engine.ended(other)


@pytest.mark.anyio
async def test_a_task_under_two_limits_needs_room_at_both() -> None:
    calls = Calls()
    narrow = flow([{"key": "wide", "max": 3}, {"key": "narrow", "max": 1}])
    async with local_engine({"pay": calls.pay}, clock="real") as engine:
        ids = [await engine.start(narrow, {"n": n}) for n in range(3)]
        await until(engine, lambda: parked(engine, "default narrow") == 2)
        assert uses(engine)["wide"].in_use == 1
        calls.go.set()
        for run_id in ids:
            await engine.ended(run_id)
        assert calls.most[""] == 1


@pytest.mark.anyio
async def test_a_rate_is_kept_and_used() -> None:
    async with local_engine({"pay": pays}, clock="real") as engine:
        definition = flow([{"key": "bank", "rate": 50}])
        ids = [await engine.start(definition) for _ in range(40)]
        for run_id in ids:
            await engine.ended(run_id)
        began = sorted(a.claimed_at for a in engine.database.table(Attempt).values())
        spans = [late - early for early, late in zip(began, began[10:], strict=False)]
        assert min(spans) >= 9 * 20 - 20
        assert 38 * 20 - 20 <= began[-1] - began[0] <= 39 * 20 + 400


@pytest.mark.anyio
async def test_with_a_clock_that_need_not_pass_a_rate_takes_no_time() -> None:
    async with local_engine({"pay": pays}) as engine:
        definition = flow([{"key": "bank", "rate": 1, "per_s": 3600}])
        ids = [await engine.start(definition) for _ in range(5)]
        for run_id in ids:
            await engine.ended(run_id)
        began = sorted(a.claimed_at for a in engine.database.table(Attempt).values())
        assert began[-1] - began[1] == 3 * 3_600_000


@pytest.mark.anyio
async def test_a_cancelled_run_gives_its_place_back_and_one_that_waits_leaves_the_line() -> None:
    calls = Calls()
    definition = flow([{"key": "bank", "max": 1}])
    async with local_engine({"pay": calls.pay}, clock="real") as engine:
        ids = [await engine.start(definition, {"n": n}) for n in range(3)]
        await until(engine, lambda: parked(engine, "default bank") == 2)
        await engine.cancel(ids[1])
        assert (await engine.ended(ids[1])).state is RunState.CANCELLED
        assert parked(engine, "default bank") == 1
        calls.go.set()
        await engine.ended(ids[0])
        await engine.ended(ids[2])
        assert calls.order == [0, 2]
        assert uses(engine)["bank"].parked == 0
        assert uses(engine)["bank"].in_use == 0


@pytest.mark.anyio
async def test_branches_of_a_fan_out_are_under_the_limits_of_their_node() -> None:
    most = out = 0

    async def work(input_: Any, params: dict[str, Any]) -> Any:
        nonlocal most, out
        out += 1
        most = max(most, out)
        await asyncio.sleep(0.005)
        out -= 1
        return input_

    node = {
        "kind": "foreach",
        "exec_type": "queue",
        "service": "work",
        "parallel_mode": "concurrent",
        "prep": {"input_key": "$params.items"},
        "post": {"output_key": "done"},
        "limits": [{"key": "item:$input.k", "max": 2}],
    }
    async with local_engine({"work": work}, clock="real") as engine:
        items = [{"k": "x", "n": n} for n in range(12)]
        ended = await engine.run({"start": "a", "nodes": {"a": node}}, {"items": items})
        assert ended.state is RunState.SUCCEEDED
        assert ended.shared["done"] == items
        assert most == 2


@pytest.mark.anyio
@pytest.mark.parametrize("params", [{}, {"customer": ["a"]}, {"customer": "x" * 300}])
async def test_a_key_that_cannot_be_made_fails_the_task_and_says_why(params: Any) -> None:
    async with local_engine({"pay": pays}) as engine:
        ended = await engine.run(flow([{"key": "bank:$params.customer", "max": 1}]), params)
        assert ended.state is RunState.FAILED
        assert "bank:$params.customer" in (ended.run.error or "")
        assert ended.tasks[0].state is TaskState.FAILED


@pytest.mark.anyio
async def test_what_waits_is_in_nobody_s_queue_and_its_run_waits() -> None:
    calls = Calls()
    definition = flow([{"key": "bank", "max": 1}])
    async with local_engine({"pay": calls.pay}, clock="real") as engine:
        first = await engine.start(definition, {"n": 0})
        second = await engine.start(definition, {"n": 1})
        await until(engine, lambda: parked(engine, "default bank") == 1)
        seen = await engine.look(second)
        assert seen.state is RunState.WAITING
        assert [(task.state, task.parked) for task in seen.tasks] == [
            (TaskState.WAITING, "default bank")
        ]
        calls.go.set()
        await engine.ended(first)
        await engine.ended(second)

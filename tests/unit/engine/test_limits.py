"""Limits by key: never more than they allow, in order, and nobody else is held up."""

import asyncio
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from windlass.engine import runs
from windlass.engine.limits.changing import remove_rule, set_rule
from windlass.engine.why import why
from windlass.model.limits import LimitRule, LimitUse
from windlass.model.rows import Attempt
from windlass.model.states import RunState, TaskState
from windlass.testing.local import LocalEngine, local_engine
from windlass.worker import Context, TemporaryError, Worker


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


def rule(pattern: str, **columns: Any) -> LimitRule:
    return LimitRule(id=f"default {pattern}", tenant="default", pattern=pattern, **columns)


async def start(engine: LocalEngine, definition: Any, params: dict[str, Any]) -> str:
    """Begin a run; the next one is begun in another millisecond, so that age tells them apart."""
    run_id = await engine.start(definition, params)
    await asyncio.sleep(0.002)
    return run_id


def parked(engine: LocalEngine, limit: str) -> int:
    return len(list(engine.database.parked(limit)))


@pytest.mark.anyio
async def test_no_more_attempts_are_out_than_a_key_allows_and_all_get_their_turn_in_order() -> None:
    calls = Calls()
    definition = flow([{"key": "bank:$params.customer", "max": 2}])
    async with local_engine({"pay": calls.pay}, clock="real") as engine:
        ids = [
            await start(engine, definition, {"customer": customer, "n": n})
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
            await start(engine, definition, {"customer": "busy", "n": n})
        other = await start(engine, definition, {"customer": "other", "n": 100})
        await until(engine, lambda: uses(engine).get("bank:other") is not None)
        assert uses(engine)["bank:other"].in_use == uses(engine)["bank:busy"].in_use == 1
        calls.go.set()
        await engine.ended(other)


@pytest.mark.anyio
async def test_a_task_under_two_limits_needs_room_at_both() -> None:
    calls = Calls()
    narrow = flow([{"key": "wide", "max": 3}, {"key": "narrow", "max": 1}])
    async with local_engine({"pay": calls.pay}, clock="real") as engine:
        ids = [await start(engine, narrow, {"n": n}) for n in range(3)]
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
        assert 39 * 20 - 1 <= began[-1] - began[0] <= 39 * 20 + 400


@pytest.mark.anyio
async def test_with_a_clock_that_need_not_pass_a_rate_takes_no_time() -> None:
    async with local_engine({"pay": pays}) as engine:
        definition = flow([{"key": "bank", "rate": 1, "per_s": 3600}])
        ids = [await engine.start(definition) for _ in range(5)]
        for run_id in ids:
            await engine.ended(run_id)
        began = sorted(a.claimed_at for a in engine.database.table(Attempt).values())
        assert began[-1] - began[0] == 4 * 3_600_000


@pytest.mark.anyio
async def test_a_cancelled_run_gives_its_place_back_and_one_that_waits_leaves_the_line() -> None:
    calls = Calls()
    definition = flow([{"key": "bank", "max": 1}])
    async with local_engine({"pay": calls.pay}, clock="real") as engine:
        ids = [await start(engine, definition, {"n": n}) for n in range(3)]
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
        first = await start(engine, definition, {"n": 0})
        second = await start(engine, definition, {"n": 1})
        await until(engine, lambda: parked(engine, "default bank") == 1)
        seen = await engine.look(second)
        assert seen.state is RunState.WAITING
        assert [(task.state, task.parked) for task in seen.tasks] == [
            (TaskState.WAITING, "default bank")
        ]
        calls.go.set()
        await engine.ended(first)
        await engine.ended(second)


@pytest.mark.anyio
async def test_a_service_that_pushes_back_is_left_alone_by_all_and_no_retry_is_spent() -> None:
    calls: list[tuple[int, str]] = []
    worker = Worker()

    @worker.service("pay")
    def pay(ctx: Context) -> str:
        now = local.database.clock()
        calls.append((now, ctx.run_id))
        if len(calls) <= 3:
            raise TemporaryError("busy", retry_after_s=60)
        return "paid"

    async with local_engine(worker) as local:
        began = local.database.clock()
        ids = [await local.start(flow([])) for _ in range(4)]
        for run_id in ids:
            ended = await local.ended(run_id)
            assert ended.state is RunState.SUCCEEDED
            assert ended.tasks[0].failures == 0
        after = [at for at, _ in calls if at > began]
        assert min(after) - began == 60_000


@pytest.mark.anyio
async def test_a_push_back_pauses_the_keys_of_the_attempt_and_not_its_service() -> None:
    worker = Worker()
    tries: Counter[str] = Counter()

    @worker.service("pay")
    def pay(ctx: Context) -> str:
        customer = ctx.params["customer"]
        tries[customer] += 1
        if customer == "a" and tries["a"] == 1:
            raise TemporaryError("busy", retry_after_s=60)
        return "paid"

    definition = flow([{"key": "bank:$params.customer", "max": 5}])
    async with local_engine(worker) as local:
        first = await local.start(definition, {"customer": "a"})
        await until(local, lambda: uses(local)["bank:a"].paused_until > 0)
        waits = await local.start(definition, {"customer": "a"})
        other = await local.run(definition, {"customer": "b"})
        assert other.run.finished_at == other.run.created_at
        for run_id in (first, waits):
            ended = await local.ended(run_id)
            assert (ended.run.finished_at or 0) - ended.run.created_at == 60_000


@pytest.mark.anyio
async def test_a_task_says_what_it_waits_for() -> None:
    calls = Calls()
    async with local_engine({"pay": calls.pay}, clock="real") as engine:
        full = flow([{"key": "bank:42", "max": 1}])
        ids = [await start(engine, full, {"n": n}) for n in range(3)]
        await until(engine, lambda: parked(engine, "default bank:42") == 2)
        said = await why(engine.engine, (await engine.look(ids[2])).run)
        assert said.line == '"a" waits: limit bank:42: 1 of 1 in use, 1 ahead of you'
        slow = flow([{"key": "slow", "rate": 1, "per_s": 600}])
        ids = [await start(engine, slow, {"n": n}) for n in range(4)]
        await until(engine, lambda: parked(engine, "default slow") == 3)
        said = await why(engine.engine, (await engine.look(ids[1])).run)
        assert re.fullmatch(r'"a" waits: rate slow: next in \d+\.\d s, \d ahead of you', said.line)
        calls.go.set()


@pytest.mark.anyio
async def test_a_rule_wins_over_definitions_at_once_and_until_it_is_removed() -> None:
    calls = Calls()
    async with local_engine({"pay": calls.pay}, clock="real") as local:
        definition = flow([{"key": "bank:1", "max": 2}])
        ids = [await local.start(definition, {"n": n}) for n in range(8)]
        await until(local, lambda: parked(local, "default bank:1") == 6)
        await set_rule(local.engine, rule("bank:*", max=5))
        await until(local, lambda: uses(local)["bank:1"].in_use == 5)
        await set_rule(local.engine, rule("bank:1", max=6))
        await until(local, lambda: uses(local)["bank:1"].in_use == 6)
        await remove_rule(local.engine, "bank:1")
        await remove_rule(local.engine, "bank:*")
        calls.go.set()
        for run_id in ids:
            await local.ended(run_id)
        assert calls.most[""] == 6


@pytest.mark.anyio
@pytest.mark.parametrize("pattern", ["service:pay", "service:*", "tenant", "*"])
async def test_a_rule_may_be_on_what_asks_for_no_limit(pattern: str) -> None:
    calls = Calls()
    async with local_engine({"pay": calls.pay}, clock="real") as local:
        await set_rule(local.engine, rule(pattern, max=2))
        ids = [await local.start(flow([]), {"n": n}) for n in range(6)]
        await until(local, lambda: sum(use.parked for use in uses(local).values()) == 4)
        calls.go.set()
        for run_id in ids:
            await local.ended(run_id)
        assert calls.most[""] == 2


@pytest.mark.anyio
async def test_a_rule_of_nothing_stops_a_key_until_it_is_removed() -> None:
    calls = Calls()
    calls.go.set()
    async with local_engine({"pay": calls.pay}, clock="real") as local:
        await set_rule(local.engine, rule("bank", max=0))
        run_id = await local.start(flow([{"key": "bank", "max": 2}]))
        await until(local, lambda: parked(local, "default bank") == 1)
        await remove_rule(local.engine, "bank")
        assert (await local.ended(run_id)).state is RunState.SUCCEEDED


@pytest.mark.anyio
async def test_a_priority_changed_while_waiting_changes_the_order_of_the_line() -> None:
    calls = Calls()
    definition = flow([{"key": "bank", "max": 1}])
    async with local_engine({"pay": calls.pay}, clock="real") as engine:
        ids = [await start(engine, definition, {"n": n}) for n in range(4)]
        await until(engine, lambda: parked(engine, "default bank") == 3)
        await runs.set_priority(engine.engine, ids[3], 7)
        calls.go.set()
        for run_id in ids:
            await engine.ended(run_id)
        assert calls.order == [0, 3, 1, 2]

"""Breakers leave a failing service alone and try it once; retries of a tenant have a budget."""

import asyncio
from typing import Any

import pytest

from tests.unit.engine.test_limits import until
from windlass.engine import runs
from windlass.engine.engine import Settings
from windlass.engine.limits.breaker import state_of
from windlass.engine.limits.changing import set_rule
from windlass.engine.why import why
from windlass.model.errors import BadRequest
from windlass.model.limits import LimitRule, LimitUse, limit_id
from windlass.model.states import RunState
from windlass.testing.local import LocalEngine, local_engine

pytestmark = pytest.mark.anyio
KEY = "default service:pay"


class Bank:
    """A service that fails until it is mended, and who called it when."""

    def __init__(self) -> None:
        self.broken = True
        self.calls = self.out = self.most = 0

    async def pay(self, input_: Any, params: dict[str, Any]) -> str:
        self.calls += 1
        self.out += 1
        self.most = max(self.most, self.out)
        await asyncio.sleep(0)
        self.out -= 1
        if self.broken:
            raise RuntimeError("out of order")
        return "paid"


def flow(retries: int) -> dict[str, Any]:
    node = {"exec_type": "queue", "service": "pay", "max_retries": retries, "wait_ms": 0}
    return {"start": "a", "nodes": {"a": node}}


def rule(pattern: str = "service:pay", **columns: Any) -> LimitRule:
    id_ = limit_id("default", pattern)
    return LimitRule(id=id_, tenant="default", pattern=pattern, **columns)


def use(engine: LocalEngine, key: str = KEY) -> LimitUse:
    return engine.database.table(LimitUse)[key]


def breaker(engine: LocalEngine) -> str:
    found = engine.database.table(LimitUse).get(KEY)
    return "" if found is None else state_of(found, engine.engine.store.now())


async def reason(engine: LocalEngine, run_id: str) -> str:
    return (await why(engine.engine, await runs.get_run(engine.engine, run_id))).line


async def test_failures_in_a_row_open_a_breaker_and_one_trial_closes_it() -> None:
    bank = Bank()
    async with local_engine({"pay": bank.pay}, clock="real") as engine:
        await set_rule(engine.engine, rule(trip_after=3, reset_ms=300))
        run = await engine.start(flow(retries=20))
        await until(engine, lambda: breaker(engine) == "open")
        assert bank.calls == 3
        assert "breaker of service:pay is open after 3 failures: next try in" in await reason(
            engine, run
        )
        others = [await engine.start(flow(retries=20)) for _ in range(5)]
        await until(engine, lambda: use(engine).parked == 6)
        bank.most = 0
        await until(engine, lambda: use(engine).failures == 4)
        assert bank.most == 1, "one is on trial, and opens it again"
        assert breaker(engine) == "open"
        bank.broken = False
        for one in (run, *others):
            assert (await engine.ended(one)).state is RunState.SUCCEEDED
        assert breaker(engine) == "closed"
        assert use(engine).failures == 0


async def test_a_success_in_between_begins_the_count_anew() -> None:
    calls = 0

    async def pay(input_: Any, params: dict[str, Any]) -> str:
        nonlocal calls
        calls += 1
        if calls % 2:
            raise RuntimeError("once")
        return "paid"

    async with local_engine({"pay": pay}, clock="real") as engine:
        await set_rule(engine.engine, rule(trip_after=2, reset_ms=60_000))
        for _ in range(4):
            run = await engine.start(flow(retries=1))
            assert (await engine.ended(run)).state is RunState.SUCCEEDED
        assert breaker(engine) == "closed"
        with pytest.raises(BadRequest):
            await set_rule(engine.engine, rule("bank", trip_after=2))


async def test_taking_the_breaker_away_lets_everybody_go_on() -> None:
    bank = Bank()
    async with local_engine({"pay": bank.pay}, clock="real") as engine:
        await set_rule(engine.engine, rule(trip_after=1, reset_ms=3_600_000))
        run = await engine.start(flow(retries=5))
        await until(engine, lambda: breaker(engine) == "open")
        bank.broken = False
        await set_rule(engine.engine, rule(trip_after=0, max=10))
        assert (await engine.ended(run)).state is RunState.SUCCEEDED


async def test_retries_of_a_tenant_wait_for_their_budget_and_first_tries_do_not() -> None:
    bank = Bank()
    settings = Settings(retries_per_minute=3)
    async with local_engine({"pay": bank.pay}, clock="real", settings=settings) as engine:
        first = await engine.start(flow(retries=5))
        await until(engine, lambda: bool(list(engine.database.parked("default retries"))))
        assert "retry budget of tenant default is spent: next in" in await reason(engine, first)
        bank.broken = False
        other = await engine.start(flow(retries=5))
        assert (await engine.ended(other)).state is RunState.SUCCEEDED
        await set_rule(engine.engine, rule("retries", rate=0))
        assert (await engine.ended(first)).state is RunState.SUCCEEDED


async def test_so_many_retries_of_a_tenant_are_out_at_once() -> None:
    go = asyncio.Event()
    tried: set[str] = set()
    out = most = 0

    async def pay(input_: Any, params: dict[str, Any]) -> str:
        nonlocal out, most
        if params["name"] not in tried:
            tried.add(params["name"])
            raise RuntimeError("again")
        out += 1
        most = max(most, out)
        await go.wait()
        out -= 1
        return "paid"

    settings = Settings(retries_at_once=2)
    async with local_engine({"pay": pay}, clock="real", settings=settings) as engine:
        ids = [await engine.start(flow(retries=3), {"name": str(n)}) for n in range(6)]
        await until(engine, lambda: len(list(engine.database.parked("default retries"))) == 4)
        reasons = [await reason(engine, run_id) for run_id in ids]
        assert any("2 of 2 retries are out" in text for text in reasons)
        go.set()
        for run_id in ids:
            assert (await engine.ended(run_id)).state is RunState.SUCCEEDED
        assert most == 2

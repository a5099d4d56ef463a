"""A bound that has changed lets those be tried who waited for the old one, whatever dies or fails
on the way."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from windlass.engine import flows, runs
from windlass.engine.forks import fork_run
from windlass.engine.limits.changing import set_rule
from windlass.engine.loops.limits import LimitWakes
from windlass.engine.runs import patch_graph
from windlass.model.graph import Activation, Graph, Kind, Node, Output, Target, Transport
from windlass.model.limits import LimitRule, LimitUse
from windlass.model.patches import Patch
from windlass.model.rows import Run
from windlass.model.states import RunState
from windlass.testing.local import LocalEngine, local_engine

pytestmark = pytest.mark.anyio

NODE = {
    "kind": "executor",
    "exec_type": "queue",
    "service": "pay",
    "limits": [{"key": "bank", "max": 1}],
}
PAY = {"start": "a", "nodes": {"a": NODE}}
OVER_AT_ONCE = {"start": "a", "nodes": {"a": {"kind": "choice", "choice_cases": []}}}
ASK = {"start": "ask", "nodes": {"ask": {"kind": "approval", "params": {"prompt": "?"}}}}


def rule(pattern: str, most: int) -> LimitRule:
    return LimitRule(id=f"default {pattern}", tenant="default", pattern=pattern, max=most)


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


async def parked(engine: LocalEngine) -> str:
    """A run whose only task waits for a key that nobody may have."""
    await set_rule(engine.engine, rule("bank", 0))
    run_id = await engine.start(PAY)
    await until(engine, lambda: bool(list(engine.database.parked("default bank"))))
    return run_id


async def test_who_waits_is_tried_though_whoever_changed_the_rule_died_before_saying_so() -> None:
    async with local_engine({"pay": pays}, clock="real") as engine:
        run_id = await parked(engine)
        await engine.engine.write(rule("bank", 1))
        await engine.engine.refresh_limits()
        assert (await engine.ended(run_id)).state is RunState.SUCCEEDED


async def test_a_pass_that_fails_puts_off_what_is_to_be_tried_and_forgets_nothing() -> None:
    async with local_engine({"pay": pays}, clock="real") as engine:
        run_id = await parked(engine)
        await engine.engine.write(rule("bank", 1))
        await engine.engine.refresh_limits()
        limiting = engine.engine.advance.limiting
        assert limiting.due == {"default bank": True}
        limiting.put_off()
        assert not limiting.due
        await LimitWakes(engine.engine).run_once()
        assert (await engine.ended(run_id)).state is RunState.SUCCEEDED


async def test_a_run_that_has_yet_to_begin_grows_without_beginning() -> None:
    graph = Graph({"": ("a",)}, {"a": call("a")}, {}, {"a": 1})
    async with local_engine({}, clock="real") as engine:
        await set_rule(engine.engine, rule("quota:runs", 1))
        first = await engine.start(ASK)
        published = await flows.publish(engine.engine, "by-hand", ASK)
        engine.engine.graphs._graphs[published.version.id] = graph
        waits = (await runs.start_run(engine.engine, published.target, "{}")).run
        assert waits.state is RunState.QUEUED
        await patch_graph(engine.engine, waits.id, Patch((call("b"),)), 0)
        row = engine.database.table(Run)[waits.id]
        assert (row.state, row.started_at, row.open) == (RunState.QUEUED, None, 0)
        await runs.answer(engine.engine, f"{first}~ask.1!0", "approved")
        await until(engine, lambda: engine.database.table(Run)[waits.id].open == 2)


def call(path: str) -> Node:
    return Node(
        path=path,
        kind=Kind.CALL,
        activation=Activation.ALL,
        fires_all=True,
        target=Target(Transport.LOCAL, "f"),
        output=Output(key=path),
    )


async def test_a_fork_of_a_run_that_was_over_at_once_gives_its_place_back() -> None:
    async with local_engine({}, clock="real") as engine:
        run_id = await engine.start(OVER_AT_ONCE)
        await engine.ended(run_id)
        row = engine.database.table(Run)[run_id]
        assert row.started_at is not None
        await set_rule(engine.engine, rule("quota:runs", 1))
        # As releases left it that did not say when such a run began.
        old = replace(row, started_at=None)
        forked = await fork_run(engine.engine, old, f"{run_id}~a.1")
        assert engine.database.table(Run)[forked.run.id].state is RunState.SUCCEEDED
        assert engine.database.table(LimitUse)["default quota:runs"].in_use == 0

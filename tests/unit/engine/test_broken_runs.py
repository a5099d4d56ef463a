"""What no run may do to the others: poison, loops without work, conditions without end."""

import asyncio
import re
import time
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import msgspec
import pytest

from windlass.engine import flows, runs
from windlass.engine.attempts import Attempts
from windlass.engine.compiling import INLINE_BYTES
from windlass.engine.demand import Demand, Demands
from windlass.engine.engine import Engine
from windlass.model.errors import BadRequest, DefinitionError, TooMuchWork
from windlass.model.rows import Event, Run, Task, Timer, read_failure
from windlass.model.states import RunState, TaskState
from windlass.testing.local import LocalEngine, local_engine

pytestmark = pytest.mark.anyio

POISON = ["1e999", "-1e999", "1" * 5_000, "[" * 5_000 + "]" * 5_000, "NaN", '"\\ud800"', "{"]
Json = dict[str, Any]


def call(name: str = "echo", **more: Any) -> Json:
    return {"exec_type": "local_func", "func": name, **more}


def flow(nodes: Json, *edges: tuple[str, str], start: str = "a") -> Json:
    return {
        "start": start,
        "nodes": nodes,
        "edges": [{"from": source, "to": target} for source, target in edges],
    }


ONE = flow({"a": call(post={"output_key": "out"})})
LOOP = flow(
    {
        "a": {"kind": "timer", "params": {"delay_ms": 1}},
        "b": {"kind": "foreach", **call(), "prep": {"input_key": "$params.none"}},
    },
    ("a", "b"),
    ("b", "b"),
)


def echo(given: Any, params: Json) -> Any:
    return given


async def is_well(local: LocalEngine) -> None:
    """A good run, beside whatever the test did, is over at once: by the time this process had, not
    by the clock, which others move on as well."""
    began = time.process_time()
    assert (await local.run(ONE)).state is RunState.SUCCEEDED
    assert time.process_time() - began < 1


def poison(local: LocalEngine, run_id: str) -> None:
    """Put a value nobody can read into a run's rows, as programs before this one let in."""
    table = local.database.table(Run)
    table[run_id] = msgspec.structs.replace(table[run_id], params='{"n": 1e999}')
    local.engine.advance.workspace.forget(run_id)


@pytest.mark.parametrize("value", POISON)
async def test_what_cannot_be_read_does_not_enter(value: str) -> None:
    async with local_engine({"echo": echo}) as local:
        engine = local.engine
        published = await flows.publish(engine, "one", ONE)
        with pytest.raises(BadRequest, match="params"):
            await runs.start_run(engine, published.target, f'{{"n": {value}}}')
        with pytest.raises(BadRequest, match="tags"):
            await runs.start_run(engine, published.target, tags=f'{{"n": {value}}}')
        with pytest.raises(BadRequest, match="object"):
            await runs.start_run(engine, published.target, "[]")
        wait = {"a": {"kind": "wait_event", "params": {"signal_key": "$shared.go"}}}
        run_id = await local.start(flow(wait))
        await local.waits(run_id)
        with pytest.raises(BadRequest, match="signal"):
            await runs.signal(engine, run_id, "go", value)
        assert (await local.look(run_id)).state is RunState.WAITING, "nothing changed"


LONG = f'["{"x" * INLINE_BYTES}",%s]'
"""A result that is looked through in a thread of its own."""


@pytest.mark.parametrize("value", [*POISON, *(LONG % value for value in POISON)])
async def test_a_result_that_cannot_be_read_fails_its_attempt_for_good(value: str) -> None:
    async with local_engine({}) as local:
        run_id = await local.start(flow({"a": {"exec_type": "queue", "service": "s"}}))
        work = Attempts(local.engine)
        [given] = await work.claim("w", ["pull:s"], 1, 5)
        with pytest.raises(BadRequest, match="the result"):
            await work.succeeded(given.attempt_id, value)
        ended = await local.ended(run_id)
        failure = read_failure(ended.tasks[0].error)
        assert failure is not None
        assert failure.kind == "fatal"
        assert "the result" in failure.message


async def test_half_characters_in_an_error_are_no_reason_to_lose_it() -> None:
    def shout(given: Any, params: Json) -> Any:
        raise ValueError(b"\xff\xfe".decode(errors="surrogateescape"))

    async with local_engine({"shout": shout}) as local:
        ended = await local.run(flow({"a": call("shout")}))
        assert "ValueError" in (ended.tasks[0].error or "")


async def test_timers_that_cannot_fire_end_their_runs_and_hold_up_no_others() -> None:
    sleeper = flow({"a": {"kind": "timer", "params": {"delay_ms": 1}}, "b": call()}, ("a", "b"))
    reads = call(prep={"input_key": "$params.n"})
    poisonable = {**sleeper, "nodes": {**sleeper["nodes"], "b": reads}}
    async with local_engine({"echo": echo}, clock="real") as local:
        run_ids = []
        for _ in range(20):
            run_id = await local.start(poisonable)
            poison(local, run_id)
            run_ids.append(run_id)
        await is_well(local)
        assert (await local.run(sleeper)).state is RunState.SUCCEEDED
        for run_id in run_ids:
            run = await runs.wait_run(local.engine, run_id, 10)
            assert run.state is RunState.FAILED
            assert "cannot go on" in (run.error or "")


async def test_a_task_that_can_never_be_claimed_ends_its_run_and_starves_nobody() -> None:
    async with local_engine({}, clock="real") as local:
        engine = local.engine
        asked = flow({"a": {"exec_type": "queue", "service": "s"}})
        poisoned = [await local.start(asked) for _ in range(2)]
        for run_id in poisoned:
            poison(local, run_id)
        good = await local.start(asked)
        work = Attempts(engine)
        [given] = await work.claim("w", ["pull:s"], 1, 5)
        assert given.run_id == good
        for _ in range(4):
            engine.advance.look_again()
            await work.claim("w", ["pull:s"], 4, 0.1)
        for run_id in poisoned:
            assert (await runs.wait_run(engine, run_id, 5)).state is RunState.FAILED


def test_tasks_that_are_passed_over_do_not_make_their_queue_look_empty() -> None:
    def task(name: str) -> Task:
        return Task(
            id=f"r~{name}.1",
            run_id="r",
            scope="r",
            node=name,
            kind="call",
            state=TaskState.QUEUED,
            queue="pull:s",
            created_at=0,
        )

    async def main() -> None:
        demands = Demands()
        demands.add(Demand("w", ["pull:s"], 1, 1000))
        bad = [task("b1"), task("b2")]
        for one in bad:
            demands.skip_until_next_look(one)
        wants = demands.backlog(10, ())
        assert wants == {"pull:s": 3}
        found = [*bad, task("good")]
        demands.looked(wants, found)
        assert demands.can_claim, "a full answer may not have been all"
        assert [pair[1].id for pair in demands.match(found).pairs] == ["r~good.1"]

    asyncio.run(main())


async def test_a_loop_over_nothing_fails_its_run_within_a_moment() -> None:
    async with local_engine({"echo": echo}, clock="real") as local:
        run_id = await local.start(LOOP, {"none": []})
        began = time.process_time()
        await asyncio.sleep(0.05)
        await is_well(local)
        run = await runs.wait_run(local.engine, run_id, 5)
        assert run.state is RunState.FAILED
        passed = re.search(
            r"passed (\d+) nodes without waiting or calling anything", run.error or ""
        )
        assert passed is not None
        assert int(passed[1]) < 1_000, "everybody waits for each of them"
        assert time.process_time() - began < 3


async def test_a_long_way_without_work_is_no_loop() -> None:
    names = [f"e{number}" for number in range(600)]
    nodes: Json = {name: {"kind": "choice", "default_action": "default"} for name in names}
    edges = list(pairwise(names))
    async with local_engine({}) as local:
        ended = await local.run(flow(nodes, *edges, start=names[0]))
        assert ended.state is RunState.SUCCEEDED
        assert len(ended.tasks) == 600


async def test_a_loop_that_can_be_seen_is_refused_when_it_is_published() -> None:
    seen = flow({"a": {"kind": "foreach", **call()}, "b": call()}, ("a", "a"))
    async with local_engine({}) as local:
        with pytest.raises(DefinitionError, match="in a circle"):
            await flows.publish(local.engine, "loop", seen)


@pytest.mark.parametrize("when", ["start", "later"])
async def test_conditions_over_long_lists_are_cut_short(when: str) -> None:
    cases = [
        {"action": "x", "expr": {"contains": ["$params.items", f"no {number}"]}}
        for number in range(2_000)
    ]
    nodes = {
        "a": {"kind": "timer", "params": {"delay_ms": 1}},
        "b": {"kind": "choice", "choice_cases": cases},
    }
    definition = {
        "start": "b" if when == "start" else "a",
        "nodes": nodes if when == "later" else {"b": nodes["b"]},
        "edges": [{"from": "a", "to": "b"}] if when == "later" else [],
    }
    params = {"items": [f"item {number}" for number in range(2_000)]}
    async with local_engine({"echo": echo}, clock="real") as local:
        published = await flows.publish(local.engine, "wide", definition)
        began = time.process_time()
        start = runs.start_run(local.engine, published.target, msgspec.json.encode(params).decode())
        if when == "start":
            with pytest.raises(TooMuchWork, match="make its conditions fewer"):
                await start
        else:
            run = await runs.wait_run(local.engine, (await start).run.id, 10)
            assert run.state is RunState.FAILED
            assert "make its conditions fewer" in (run.error or "")
        assert time.process_time() - began < 3
        await is_well(local)


async def test_runs_in_memory_are_bounded_by_what_they_take() -> None:
    async with local_engine({}, clock="real") as local:
        engine: Engine = local.engine
        engine.advance.workspace._bytes_max = 4_000_000
        asked = flow({"a": {"exec_type": "queue", "service": "s"}})
        large = {"items": ["x" * 100] * 3_000}
        for _ in range(20):
            await local.start(asked, large)
        workspace = engine.advance.workspace
        assert 0 < workspace._bytes <= 4_000_000
        assert len(workspace._views) < 20
        assert sum(1 for view in workspace._views.values() if view.memo) <= 1
        for run_id in list(workspace._views):
            workspace.forget(run_id)
        assert workspace._bytes == 0


async def test_large_parameters_of_one_pass_are_not_all_kept_parsed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A pass goes through many runs before any of them is settled."""
    async with local_engine({}, clock="real") as local:
        workspace = local.engine.advance.workspace
        workspace._bytes_max = 40_000_000
        parsed, touched = list[int](), list[int]()
        settle = workspace.settle

        def counted(run_ids: Sequence[str]) -> None:
            parsed.append(sum(1 for view in workspace._views.values() if view.memo))
            touched.append(len(run_ids))
            settle(run_ids)

        monkeypatch.setattr(workspace, "settle", counted)
        asked = flow({"a": {**call(), "exec_type": "queue", "service": "s"}})
        del asked["nodes"]["a"]["func"]
        asked["nodes"]["a"]["prep"] = {"input_key": "$params.first"}
        published = await flows.publish(local.engine, "large", asked)
        large = msgspec.json.encode({"first": 1, "items": ["x" * 100] * 3_000}).decode()
        starts = (runs.start_run(local.engine, published.target, large) for _ in range(20))
        await asyncio.gather(*starts)
        assert max(touched) > 10, "one pass began many of them"
        assert 0 < max(parsed) <= 5, "they take about 5 MB each once they are parsed"


async def test_an_event_that_can_never_be_decided_ends_its_run_and_leaves_nothing_open() -> None:
    async with local_engine({}, clock="real") as local:
        engine = local.engine
        nodes = {
            "a": {"exec_type": "queue", "service": "s", "post": {"output_key": "out"}},
            "b": {"kind": "choice", "choice_cases": [{"action": "x", "expr": "$params.n"}]},
            "c": {"exec_type": "queue", "service": "s"},
        }
        run_id = await local.start(flow(nodes, ("a", "b"), ("b", "c")))
        work = Attempts(engine)
        [given] = await work.claim("w", ["pull:s"], 1, 5)
        poison(local, run_id)
        assert await work.succeeded(given.attempt_id, "1") == "accepted", "it is not sent again"
        run = await runs.get_run(engine, run_id)
        assert run.state is RunState.FAILED
        assert (run.open, run.active) == (0, 0)
        assert not list(local.database.live_attempts)
        assert local.database.table(Timer) == {}
        [event] = [e for e in local.database.of_run(Event, run_id) if e.type == "run.broken"]
        assert '"run":"failed"' in event.data


async def test_a_wide_fan_out_is_made_a_slice_at_a_time() -> None:
    """A pass that made all branches of a run would have everybody wait for it."""
    each = {"kind": "foreach", "parallel_mode": "concurrent", "exec_type": "queue", "service": "s"}
    definition = flow({"a": {**each, "prep": {"input_key": "$params.items"}}})
    async with local_engine({"echo": echo}, clock="real") as local:
        run_id = await local.start(definition, {"items": list(range(2_500))})

        def slices() -> list[list[int]]:
            events = sorted(local.database.of_run(Event, run_id), key=lambda event: event.seq)
            changes = [c for e in events for c in msgspec.json.decode(e.data)["changes"]]
            return [change["made"] for change in changes if "fanout" in change]

        async with asyncio.timeout(10):
            while not slices() or slices()[-1][1] < 2_500:  # noqa: ASYNC110  each is a commit
                await asyncio.sleep(0.01)
        assert [first for first, _ in slices()] == [0, *(last for _, last in slices()[:-1])]
        assert max(last - first for first, last in slices()) <= 1_000
        await is_well(local)


async def test_a_value_that_doubles_each_time_round_ends_its_run_and_nobody_elses() -> None:
    twice = {"input_map": {"a": "$shared.x", "b": "$shared.x", "c": "x" * 100_000}}
    call = {"kind": "executor", "service": "same", "prep": twice, "post": {"output_key": "x"}}
    loop = {"from": "a", "to": "a", "action": "default"}

    async def same(value: Any, params: dict[str, Any]) -> Any:
        return value

    async with local_engine({"same": same}) as local:
        ended = await local.run({"start": "a", "nodes": {"a": call}, "edges": [loop]})
        assert ended.state is RunState.FAILED
        assert "keep what is larger as a resource" in (ended.run.error or "")

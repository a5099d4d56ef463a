"""Workflows on a whole engine: rows are read when they are needed, and no more often."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.workflows import container, edge, node, subgraph, uid, workflow
from windlass.dialects.workflow import compile_workflow
from windlass.engine import flows, passes, runs
from windlass.engine.attempts import Attempts
from windlass.engine.loading import load
from windlass.kernel.events import AttemptSucceeded, NextRequested
from windlass.model.assignment import Assignment, Called
from windlass.model.queues import own_queue
from windlass.model.rows import Task
from windlass.model.states import RunState, TaskState
from windlass.testing.local import LocalEngine, local_engine

pytestmark = pytest.mark.anyio


class Bench:
    """An engine, and a worker that has every node type of the kit and does what the test says."""

    def __init__(self, local: LocalEngine, names: list[str]) -> None:
        self.local = local
        self.attempts = Attempts(local.engine)
        services = [f"kit@1.0.0:kit.{name}" for name in names]
        self.queues = [f"link:{service}" for service in services]
        self.queues += [own_queue("w", service) for service in services]

    async def start(self, definition: object, params: str = "{}") -> str:
        """Begin a run of a workflow under the id of some published version."""
        engine = self.local.engine
        placeholder = {"start": "a", "nodes": {"a": {"kind": "approval"}}, "edges": []}
        published = await flows.publish(engine, "by-hand", placeholder)
        engine.graphs._graphs[published.version.id] = compile_workflow(definition)
        return (await runs.start_run(engine, published.target, params)).run.id

    async def next(self) -> Assignment:
        [given] = await self.attempts.claim("w", self.queues, 1, wait_s=5)
        return given

    async def done(self, given: Assignment, result: Any, *, skipped: bool = False) -> None:
        text = json.dumps(result)
        await self.local.engine.submit(AttemptSucceeded(given.attempt_id, text, skipped=skipped))

    def state(self, run_id: str, path: str) -> TaskState:
        return next(t.state for t in self.local.database.of_run(Task, run_id) if t.node == path)


@asynccontextmanager
async def bench(*names: str) -> AsyncGenerator[Bench, None]:
    async with local_engine({}, clock="fake") as local:
        yield Bench(local, list(names))


async def test_a_diamond_of_packages_is_claimed_node_by_node_and_joined() -> None:
    nodes = [node(name) for name in "abcd"]
    edges = [edge("a", "b"), edge("a", "c"), edge("b", "d"), edge("c", "d", "out>also")]
    async with bench(*"abcd") as work:
        run_id = await work.start(workflow(nodes, edges))
        for count in range(4):
            given = await work.next()
            name = given.service.rpartition(".")[2]
            assert given.node == uid(name)
            if name == "d":
                assert json.loads(given.input) == {"x": "b", "z": "c"}
                assert count == 3
            await work.done(given, {"y": name})
        ended = await work.local.ended(run_id)
    assert ended.state is RunState.SUCCEEDED
    assert len(ended.tasks) == 4


async def test_a_wide_join_reads_its_sources_in_one_go(monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[int] = []

    async def counted(session: Any, graphs: Any, needs: Any) -> None:
        reads.append(len(needs))
        await load(session, graphs, needs)

    monkeypatch.setattr(passes, "load", counted)
    names = [f"n{number}" for number in range(40)]
    nodes = [node("first"), *(node(name) for name in names), node("last")]
    edges = [edge("first", name) for name in names] + [edge(name, "last") for name in names]
    async with bench("first", "last", *names) as work:
        run_id = await work.start(workflow(nodes, edges))
        for _ in range(40):
            given = await work.next()
            await work.done(given, {"y": given.node})
        given = await work.next()
        reads.clear()
        await work.done(given, {"y": given.node})
        assert max(reads) == 39, "all the others at once"
        assert len(reads) < 6
        last = await work.next()
        assert json.loads(last.input)["x"] in {uid(name) for name in names}
        await work.done(last, {})
        assert (await work.local.ended(run_id)).state is RunState.SUCCEEDED


async def test_skips_pass_through_the_engine() -> None:
    edges = [edge("a", "b"), edge("b", "c")]
    async with bench(*"abc") as work:
        run_id = await work.start(workflow([node(n) for n in "abc"], edges))
        await work.done(await work.next(), {}, skipped=True)
        ended = await work.local.ended(run_id)
    assert [str(task.state) for task in ended.tasks] == ["skipped"] * 3
    assert ended.state is RunState.SUCCEEDED


async def test_containers_and_loops_run_on_the_engine() -> None:
    box = container("box", "g", inside={"loop": {"enabled": True, "maxIterations": 3}})
    made = workflow(
        [box, node("b")], [edge("box", "b", ">")], subgraphs=[subgraph("g", [node("n")])]
    )
    async with bench("n", "b") as work:
        run_id = await work.start(made)
        seen = []
        for _ in range(4):
            given = await work.next()
            seen.append(given.node)
            await work.done(given, {})
        assert (await work.local.ended(run_id)).state is RunState.SUCCEEDED
    assert seen == [f"{uid('box')}/body/{uid('n')}"] * 3 + [uid("b")]


async def test_a_middleware_calls_for_its_host_through_the_engine() -> None:
    made = workflow([node("h", middlewares=[node("m", id="m")]), node("b")], [edge("h", "b")])
    async with bench("h", "m", "b") as work:
        run_id = await work.start(made)
        outer = await work.next()
        asked = NextRequested(outer.attempt_id, "r1")
        first: Called = await work.local.engine.submit(asked)
        host = await work.next()
        assert (host.node, host.task_id) == (f"{uid('h')}/host", first.task_id)
        await work.done(host, {"y": 3})
        again: Called = await work.local.engine.submit(asked)
        assert json.loads(again.output or "")["y"] == 3
        await work.done(outer, {})
        last = await work.next()
        assert json.loads(last.input) == {"x": 3}
        await work.done(last, {})
        assert (await work.local.ended(run_id)).state is RunState.SUCCEEDED


async def test_a_failed_workflow_is_retried_where_it_failed() -> None:
    edges = [edge("a", "c"), edge("b", "c", "out>also")]
    async with bench(*"abc") as work:
        run_id = await work.start(workflow([node(n) for n in "abc"], edges))
        await work.done(await work.next(), {"y": 1})
        failed = await work.next()
        await work.done(failed, "no object")
        assert (await work.local.ended(run_id)).state is RunState.FAILED
        assert work.state(run_id, uid("c")) is TaskState.CANCELLED
        await work.local.retry(run_id)
        await work.done(await work.next(), {"y": 2})
        last = await work.next()
        assert json.loads(last.input) == {"x": 1, "z": 2}
        await work.done(last, {})
        assert (await work.local.ended(run_id)).state is RunState.SUCCEEDED


async def test_a_node_s_limits_hold_by_what_it_is_given() -> None:
    limits = [{"key": "shelf:$input.n", "max": 1}]
    nodes = [node(name, parameters={"n": name == "c"}, limits=limits) for name in "abc"]
    async with bench("a", "b", "c") as own:
        run_id = await own.start(workflow(nodes))
        first, other = await own.next(), await own.next()
        states = {name: own.state(run_id, uid(name)) for name in "abc"}
        assert states.pop("c") is TaskState.RUNNING
        assert sorted(states.values()) == [TaskState.RUNNING, TaskState.WAITING]
        for given in (first, other):
            await own.done(given, {})
        await own.done(await own.next(), {})
        assert (await own.local.ended(run_id)).state is RunState.SUCCEEDED

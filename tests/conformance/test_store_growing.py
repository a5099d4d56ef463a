"""Runs whose graphs grow, on every store: two processes, and a redo after the patch."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from tests.conformance.conftest import Open
from windlass.engine import flows, runs
from windlass.engine.engine import Engine
from windlass.kernel.events import AttemptSucceeded, Claim
from windlass.model.graph import Activation, Edge, Graph, Kind, Node, Output, Ref, Root, Target
from windlass.model.graph import Transport as By
from windlass.model.ids import attempt_id, task_id
from windlass.model.patches import GraphPatch, Patch
from windlass.model.rows import Task
from windlass.model.states import RunState, TaskState
from windlass.ports.store import Cond
from windlass.server.api.history import revision_view

pytestmark = pytest.mark.anyio


def call(path: str, *sources: str) -> Node:
    return Node(
        path=path,
        kind=Kind.CALL,
        activation=Activation.ALL,
        fires_all=True,
        target=Target(By.LOCAL, "f"),
        input={each: Ref(Root.RESULTS, (each,)) for each in sources},
        output=Output(key=path),
    )


GRAPH = Graph({"": ("a", "k")}, {"a": call("a"), "k": call("k")}, {}, {"a": 1, "k": 1})
JOIN = Patch(
    (call("end", "a", "k"),),
    (Edge("a", "default", "end"), Edge("k", "default", "end")),
    reason="both are needed",
    author="planner",
)


@asynccontextmanager
async def two_engines(open_store: Open) -> AsyncGenerator[tuple[Engine, Engine], None]:
    engines = [Engine(await open_store(), name=name) for name in ("one", "other")]
    loops = [asyncio.ensure_future(engine.advance.run()) for engine in engines]
    try:
        yield engines[0], engines[1]
    finally:
        for loop in loops:
            loop.cancel()
        await asyncio.gather(*loops, return_exceptions=True)


async def begin(one: Engine, other: Engine) -> str:
    placeholder = {"start": "a", "nodes": {"a": {"kind": "approval"}}, "edges": []}
    published = await flows.publish(one, "by-hand", placeholder)
    for engine in (one, other):
        engine.graphs._graphs[published.version.id] = GRAPH
    return (await runs.start_run(one, published.target, "{}")).run.id


async def task_of(engine: Engine, run_id: str, node: str) -> Task:
    async with engine.store.session() as session:
        [task] = await session.rows(Task, [task_id(run_id, node, 0)])
    return task


async def work(engine: Engine, run_id: str, node: str, output: str) -> None:
    task = await task_of(engine, run_id, node)
    await engine.submit(Claim(task.id, "w", "", "w", 30_000))
    await engine.submit(AttemptSucceeded(attempt_id(task.id, task.attempts + 1), output))


async def test_a_patched_run_is_decided_redone_and_listed_alike_by_two_processes(
    open_store: Open,
) -> None:
    async with two_engines(open_store) as (one, other):
        run_id = await begin(one, other)
        await work(other, run_id, "k", "1")
        assert await runs.patch_graph(one, run_id, JOIN, 0) == 1
        assert await runs.patch_graph(other, run_id, JOIN, 0) == 1
        await work(other, run_id, "a", "2")
        end = await task_of(one, run_id, "end")
        assert (end.state, end.input) == (TaskState.QUEUED, '{"a":2,"k":1}')
        await work(one, run_id, "end", "3")
        assert (await runs.get_run(one, run_id)).state is RunState.SUCCEEDED
        await runs.retry(other, run_id, "a", descendants=True)
        await work(one, run_id, "a", "20")
        end = await task_of(one, run_id, "end")
        assert (end.state, end.input) == (TaskState.QUEUED, '{"a":20,"k":1}')
        await work(other, run_id, "end", "30")
        run = await runs.get_run(other, run_id)
        assert (run.state, run.graph_rev) == (RunState.SUCCEEDED, 1)
        [row] = await one.store.page(GraphPatch, [Cond("run_id", "=", run_id)], order="rev")
        shown = revision_view(row)
        assert (shown.revision, shown.reason, shown.author) == (1, "both are needed", "planner")
        assert (shown.added, shown.edges) == (["end"], [("a", "end"), ("k", "end")])

"""Runs whose graphs grow: every process decides on the graph that the run's row names."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from windlass.engine import flows, runs
from windlass.engine.deleting import delete_run
from windlass.engine.engine import Engine
from windlass.kernel.events import AttemptSucceeded, Claim
from windlass.model.errors import Conflict, DefinitionError
from windlass.model.graph import Activation, Edge, Graph, Kind, Node, Output, Ref, Root, Target
from windlass.model.graph import Transport as By
from windlass.model.ids import attempt_id, task_id
from windlass.model.patches import GraphPatch, Patch
from windlass.model.rows import Event, Run, Task
from windlass.model.states import RunState, TaskState
from windlass.testing.local import real_ms
from windlass.testing.memory import MemoryDatabase, MemoryStore

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


GRAPH = Graph({"": ("a",)}, {"a": call("a")}, {}, {"a": 1})
AFTER_A = Patch((call("b", "a"),), (Edge("a", "default", "b"),), reason="more", author="somebody")


class Two:
    """Two processes on one database, and a run that both have in memory."""

    def __init__(self, database: MemoryDatabase) -> None:
        self.database = database
        self.one = Engine(MemoryStore(database, "one"), name="one")
        self.other = Engine(MemoryStore(database, "other"), name="other")
        self.run_id = ""

    async def start(self) -> None:
        placeholder = {"start": "a", "nodes": {"a": {"kind": "approval"}}, "edges": []}
        published = await flows.publish(self.one, "by-hand", placeholder)
        for engine in (self.one, self.other):
            engine.graphs._graphs[published.version.id] = GRAPH
        self.run_id = (await runs.start_run(self.one, published.target, "{}")).run.id

    def task(self, node: str) -> Task:
        return self.database.table(Task)[task_id(self.run_id, node, 0)]

    def run(self) -> Run:
        return self.database.table(Run)[self.run_id]

    async def claim(self, engine: Engine, node: str) -> None:
        await engine.submit(Claim(self.task(node).id, "w", "", "w", 30_000))

    async def succeed(self, engine: Engine, node: str, output: str = "1") -> None:
        task = self.task(node)
        await engine.submit(AttemptSucceeded(attempt_id(task.id, task.attempts), output))


@asynccontextmanager
async def two_engines() -> AsyncGenerator[Two, None]:
    two = Two(MemoryDatabase(real_ms))
    loops = [asyncio.ensure_future(engine.advance.run()) for engine in (two.one, two.other)]
    try:
        await two.start()
        yield two
    finally:
        for loop in loops:
            loop.cancel()
        await asyncio.gather(*loops, return_exceptions=True)


async def test_a_process_with_an_older_graph_does_not_decide_on_it() -> None:
    async with two_engines() as two:
        await two.claim(two.one, "a")
        await runs.signal(two.other, two.run_id, "seen", "1")  # the other has it in memory now
        assert await runs.patch_graph(two.one, two.run_id, AFTER_A, 0) == 1
        await two.succeed(two.other, "a")
        assert two.task("b").state is TaskState.QUEUED
        assert two.task("b").input == '{"a":1}'
        second = Patch((call("c", "b"),), (Edge("b", "default", "c"),))
        assert await runs.patch_graph(two.other, two.run_id, second, 1) == 2
        for node in ("b", "c"):
            await two.claim(two.one, node)
            await two.succeed(two.one, node)
        assert two.run().state is RunState.SUCCEEDED
        assert two.run().graph_rev == 2


async def test_a_task_of_a_node_that_came_later_is_claimed_by_a_process_with_an_older_graph() -> (
    None
):
    async with two_engines() as two:
        await two.claim(two.one, "a")
        await runs.signal(two.other, two.run_id, "seen", "1")
        await runs.patch_graph(two.one, two.run_id, Patch((call("x"),)), 0)
        await two.claim(two.other, "x")
        assert two.task("x").state is TaskState.RUNNING
        await two.succeed(two.other, "x")
        await two.succeed(two.one, "a")
        assert two.run().state is RunState.SUCCEEDED


async def test_several_events_of_one_pass_see_the_patch_before_them() -> None:
    async with two_engines() as two:
        await two.claim(two.one, "a")
        patched = runs.patch_graph(two.one, two.run_id, AFTER_A, 0)
        await asyncio.gather(patched, two.succeed(two.one, "a"))
        assert two.task("b").state is TaskState.QUEUED


async def test_two_patches_for_one_revision_are_one_patch_and_a_conflict() -> None:
    async with two_engines() as two:
        other = Patch((call("x"),))
        answers: Any = await asyncio.gather(
            runs.patch_graph(two.one, two.run_id, AFTER_A, 0),
            runs.patch_graph(two.other, two.run_id, other, 0),
            return_exceptions=True,
        )
        assert sorted(map(str, map(type, answers))) == sorted(map(str, (int, Conflict)))
        assert two.run().graph_rev == 1
        again = await asyncio.gather(
            runs.patch_graph(two.one, two.run_id, AFTER_A, 0),
            runs.patch_graph(two.other, two.run_id, AFTER_A, 0),
            return_exceptions=True,
        )
        assert two.run().graph_rev == 1, "the same patch is taken once"
        assert len({str(answer) for answer in again}) == 1


async def test_a_refused_patch_names_every_problem_and_moves_nothing() -> None:
    async with two_engines() as two:
        bad = Patch(
            (call("a"), Node(path="t", kind=Kind.TIMER), call("no/where")),
            (Edge("a", "default", "nobody"), Edge("a", "default", "a")),
            drop=("neither",),
        )
        with pytest.raises(DefinitionError) as refused:
            await runs.patch_graph(two.one, two.run_id, bad, 0)
        assert {problem.path for problem in refused.value.problems} >= {
            "a",
            "t",
            "no/where",
            "neither",
            "edges[0]",
        }
        assert two.run().graph_rev == 0
        with pytest.raises(DefinitionError, match="leads back"):
            await runs.patch_graph(
                two.one, two.run_id, Patch(edges=(Edge("a", "default", "a"),)), 0
            )


async def test_limits_are_kept_and_said_with_their_numbers() -> None:
    many = Patch(tuple(call(f"n{number}") for number in range(1_001)))
    async with two_engines() as two:
        with pytest.raises(DefinitionError, match="1,001 nodes, at most 1,000"):
            await runs.patch_graph(two.one, two.run_id, many, 0)
        with pytest.raises(DefinitionError, match="changes nothing"):
            await runs.patch_graph(two.one, two.run_id, Patch(), 0)


async def test_a_graph_that_has_left_memory_comes_back_as_it_was() -> None:
    async with two_engines() as two:
        await runs.patch_graph(two.one, two.run_id, AFTER_A, 0)
        before = await two.other.graphs.load_of(two.run())
        two.one.advance.workspace.forget(two.run_id)
        assert await two.one.graphs.load_of(two.run()) == before
        await two.claim(two.one, "a")
        await two.succeed(two.one, "a")
        assert two.task("b").state is TaskState.QUEUED


async def test_a_patch_is_told_in_the_history_and_goes_with_its_run() -> None:
    async with two_engines() as two:
        await runs.patch_graph(two.one, two.run_id, AFTER_A, 0)
        told = [e for e in two.database.of_run(Event, two.run_id) if e.type == "graph.patched"]
        assert '"revision":1,"reason":"more","author":"somebody","added":["b"]' in told[0].data
        await runs.cancel(two.one, two.run_id)
        with pytest.raises(Conflict, match="cannot grow any more"):
            await runs.patch_graph(two.one, two.run_id, Patch((call("z"),)), 1)
        await delete_run(two.one, two.run())
        assert not two.database.table(GraphPatch)

"""Redoing part of a graph with joins, on every store: fan-outs, containers and loops included."""

import asyncio
import json
from typing import Any

import pytest

from tests.conformance.conftest import Open
from windlass.engine import flows, runs
from windlass.engine.engine import Engine
from windlass.kernel.events import AttemptSucceeded, Claim
from windlass.model.graph import (
    Activation,
    Case,
    Edge,
    Expr,
    Graph,
    Kind,
    Node,
    Output,
    Ref,
    Root,
    Target,
    Transport,
)
from windlass.model.ids import attempt_id
from windlass.model.states import RunState, TaskState

pytestmark = pytest.mark.anyio

BY_HAND = Target(Transport.LOCAL, "f")


def node(path: str, kind: Kind, *sources: str, **more: Any) -> Node:
    reads: dict[str, Ref] = {each: Ref(Root.RESULTS, (each,)) for each in sources}
    more = {"input": reads, "output": Output(key=path), **more}
    if kind is Kind.CALL:
        more["target"] = BY_HAND
    return Node(path=path, kind=kind, activation=Activation.ALL, fires_all=True, **more)


def graph() -> Graph:
    """`a` gives a list to a foreach; beside it a loop goes round twice; both lead to `end`."""
    twice = Case("again", Expr("lt", (Ref(Root.STEP), Ref(Root.LITERAL, literal=4))))
    nodes = [
        node("a", Kind.CALL),
        node("kept", Kind.CALL),
        node("fan", Kind.FOREACH, input=Ref(Root.RESULTS, ("a", "items"))),
        Node(path="fan/*", kind=Kind.CALL, target=BY_HAND),
        node("box", Kind.SUBFLOW, "a"),
        Node(path="box/body", kind=Kind.SUBFLOW, output=Output(key="round")),
        Node(path="box/again", kind=Kind.CHOICE, cases=(twice,)),
        node("box/body/p", Kind.CALL),
        node("end", Kind.CALL, "fan", "box", "kept"),
    ]
    wires = [("a", "fan"), ("a", "box"), ("fan", "end"), ("box", "end"), ("kept", "end")]
    edges: dict[str, tuple[Edge, ...]] = {
        "box/body": (Edge("box/body", "default", "box/again"),),
        "box/again": (Edge("box/again", "again", "box/body"),),
    }
    for source, target in wires:
        edges[source] = (*edges.get(source, ()), Edge(source, "default", target))
    starts = {"": ("a", "kept"), "box": ("box/body",), "box/body": ("box/body/p",)}
    joins = {"a": 1, "kept": 1, "fan": 1, "box": 1, "box/body/p": 1, "end": 3}
    return Graph(starts, {each.path: each for each in nodes}, edges, joins, fails_run=True)


class Driven:
    """An engine whose work the test does."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.items = 3
        self.done: list[str] = []

    async def start(self) -> str:
        placeholder = {"start": "a", "nodes": {"a": {"kind": "approval"}}, "edges": []}
        published = await flows.publish(self.engine, "by-hand", placeholder)
        self.engine.graphs._graphs[published.version.id] = graph()
        return (await runs.start_run(self.engine, published.target, "{}")).run.id

    async def drain(self, run_id: str) -> None:
        while True:
            async with self.engine.store.session() as session:
                tasks = await session.open_tasks([run_id])
            queued = [task for task in tasks if task.state is TaskState.QUEUED]
            if not queued:
                break
            for task in queued:
                await self.engine.submit(Claim(task.id, "w", "", "w", 30_000))
                said = {"items": list(range(self.items)), "of": [task.node, task.input]}
                number = task.attempts + 1
                event = AttemptSucceeded(attempt_id(task.id, number), json.dumps(said))
                await self.engine.submit(event)
                self.done.append(task.node)
        assert (await runs.get_run(self.engine, run_id)).state is RunState.SUCCEEDED

    async def told(self, run_id: str) -> dict[str, Any]:
        async with self.engine.store.session() as session:
            tasks = await session.run_tasks(run_id)
        return {
            task.id.removeprefix(run_id): (task.state, task.input, task.output, task.open)
            for task in tasks
            if task.state is not TaskState.SUPERSEDED
        }


async def test_a_redo_ends_as_a_fresh_run_and_keeps_what_stands(open_store: Open) -> None:
    driven = Driven(Engine(await open_store(), name="one"))
    loop = asyncio.ensure_future(driven.engine.advance.run())
    try:
        run_id = await driven.start()
        await driven.drain(run_id)
        for driven.items in (1, 4):
            driven.done.clear()
            await runs.retry(driven.engine, run_id, "a", descendants=True)
            await driven.drain(run_id)
            assert "kept" not in driven.done
            assert driven.done.count("fan/*") == driven.items
            assert driven.done.count("box/body/p") == 2
        driven.done.clear()
        second = f"{run_id}~box.0~body.3~p.0"
        await runs.retry(driven.engine, run_id, second, descendants=True)
        await driven.drain(run_id)
        assert driven.done == ["box/body/p", "end"]
        again = await driven.told(run_id)
        fresh_id = await driven.start()
        await driven.drain(fresh_id)
        fresh = await driven.told(fresh_id)
        # What `kept` said was said when lists were shorter.
        for told in (again, fresh):
            del told["~kept.0"], told["~end.0"]
        assert again == fresh
    finally:
        loop.cancel()
        await asyncio.gather(loop, return_exceptions=True)

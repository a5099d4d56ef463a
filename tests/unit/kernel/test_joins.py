"""Nodes that wait for all their edges: they begin once, with everything there, or are skipped.

The graphs are built by hand and put where a version's would be, so that no dialect is in the way.
"""

from typing import Any

import pytest

from windlass.engine import flows, runs
from windlass.model.graph import (
    ActionRule,
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
from windlass.model.states import RunState, TaskState
from windlass.testing.local import Ended, LocalEngine, local_engine

pytestmark = pytest.mark.anyio

CALLS: list[str] = []


def call(path: str, func: str = "mark", **extra: Any) -> Node:
    return Node(
        path=path,
        kind=Kind.CALL,
        activation=Activation.ALL,
        fires_all=True,
        target=Target(Transport.LOCAL, func),
        input=Ref(Root.LITERAL, literal=path),
        output=Output(key=path),
        **extra,
    )


def graph(nodes: list[Node], *edges: tuple[str, str] | tuple[str, str, str]) -> Graph:
    made: dict[str, tuple[Edge, ...]] = {}
    joins: dict[str, int] = {}
    for source, target, *on in edges:
        made[source] = (*made.get(source, ()), Edge(source, on[0] if on else "default", target))
        joins[target] = joins.get(target, 0) + 1
    starts = tuple(node.path for node in nodes if node.path not in joins)
    return Graph({"": starts}, {node.path: node for node in nodes}, made, joins)


async def run(engine: LocalEngine, made: Graph, params: str = "{}") -> Ended:
    """Run a hand-built graph under the id of some published version."""
    placeholder = {"start": "a", "nodes": {"a": {"kind": "approval"}}, "edges": []}
    published = await flows.publish(engine.engine, "by-hand", placeholder)
    engine.engine.graphs._graphs[published.version.id] = made
    started = await runs.start_run(engine.engine, published.target, params)
    return await engine.ended(started.run.id)


def mark(given: Any, params: dict[str, Any]) -> Any:
    CALLS.append(given)
    return given


def boom(given: Any, params: dict[str, Any]) -> Any:
    raise ValueError("boom")


@pytest.fixture
def handlers() -> dict[str, Any]:
    CALLS.clear()
    return {"mark": mark, "boom": boom}


def states(ended: Ended) -> dict[str, str]:
    return {task.node: str(task.state) for task in ended.tasks}


async def test_a_diamond_joins_once_when_both_sides_are_done(handlers: dict[str, Any]) -> None:
    made = graph(
        [call("a"), call("b"), call("c"), call("d")],
        ("a", "b"),
        ("a", "c"),
        ("b", "d"),
        ("c", "d"),
    )
    async with local_engine(handlers, clock="fake") as engine:
        ended = await run(engine, made)
    assert ended.state is RunState.SUCCEEDED
    assert CALLS[0] == "a"
    assert CALLS[-1] == "d"
    assert sorted(CALLS) == ["a", "b", "c", "d"]
    joined = next(task for task in ended.tasks if task.node == "d")
    assert (joined.edges_open, joined.edges_fired, joined.input) == (0, 2, '"d"')


async def test_several_nodes_may_begin_a_graph(handlers: dict[str, Any]) -> None:
    made = graph([call("a"), call("b"), call("end")], ("a", "end"), ("b", "end"))
    async with local_engine(handlers, clock="fake") as engine:
        ended = await run(engine, made)
    assert set(states(ended).values()) == {"succeeded"}
    assert CALLS[-1] == "end"


def choice(path: str) -> Node:
    holds = Expr("eq", (Ref(Root.PARAMS, ("way",)), Ref(Root.LITERAL, literal="left")))
    return Node(
        path=path,
        kind=Kind.CHOICE,
        cases=(Case("left", holds),),
        action=ActionRule(default="right"),
    )


async def test_a_branch_not_taken_is_skipped_down_to_where_it_joins(
    handlers: dict[str, Any],
) -> None:
    made = graph(
        [choice("pick"), call("l1"), call("l2"), call("r1"), call("end")],
        ("pick", "l1", "left"),
        ("l1", "l2"),
        ("pick", "r1", "right"),
        ("l2", "end"),
        ("r1", "end"),
    )
    async with local_engine(handlers, clock="fake") as engine:
        ended = await run(engine, made, '{"way":"right"}')
        other = await run(engine, made, '{"way":"left"}')
    assert ended.state is RunState.SUCCEEDED
    assert states(ended) == {
        "pick": "succeeded",
        "l1": "skipped",
        "l2": "skipped",
        "r1": "succeeded",
        "end": "succeeded",
    }
    assert states(other)["r1"] == "skipped"
    assert states(other)["end"] == "succeeded"


async def test_when_nothing_leads_to_a_join_it_is_skipped_and_the_run_still_ends(
    handlers: dict[str, Any],
) -> None:
    made = graph([choice("pick"), call("x"), call("end")], ("pick", "x", "neither"), ("x", "end"))
    async with local_engine(handlers, clock="fake") as engine:
        ended = await run(engine, made)
    assert ended.state is RunState.SUCCEEDED
    assert states(ended) == {"pick": "succeeded", "x": "skipped", "end": "skipped"}
    assert CALLS == []


async def test_a_failure_that_nothing_catches_ends_the_rest(handlers: dict[str, Any]) -> None:
    made = graph([call("a", "boom"), call("b"), call("end")], ("a", "end"), ("b", "end"))
    made = Graph(made.starts, made.nodes, made.edges, made.joins, fails_run=True)
    async with local_engine(handlers, clock="fake") as engine:
        ended = await run(engine, made)
    assert ended.state is RunState.FAILED
    assert all(task.state is not TaskState.PENDING for task in ended.tasks)


async def test_an_error_edge_fires_and_the_other_is_known_not_to(
    handlers: dict[str, Any],
) -> None:
    made = graph(
        [call("a", "boom"), call("good"), call("bad"), call("end")],
        ("a", "good"),
        ("a", "bad", "error"),
        ("good", "end"),
        ("bad", "end"),
    )
    async with local_engine(handlers, clock="fake") as engine:
        ended = await run(engine, made)
    assert states(ended) == {
        "a": "failed",
        "good": "skipped",
        "bad": "succeeded",
        "end": "succeeded",
    }


async def test_part_of_such_a_graph_is_done_again_and_the_rest_is_kept(
    handlers: dict[str, Any],
) -> None:
    made = graph(
        [call("a"), call("b"), call("c"), call("d")], ("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")
    )
    async with local_engine(handlers, clock="fake") as engine:
        ended = await run(engine, made)
        CALLS.clear()
        await runs.retry(engine.engine, ended.run.id, "b", descendants=True)
        again = await engine.ended(ended.run.id)
    assert again.state is RunState.SUCCEEDED
    assert CALLS == ["b", "d"]
    kept = {task.node: task.generation for task in again.tasks}
    assert (kept["a"], kept["c"]) == (0, 0)

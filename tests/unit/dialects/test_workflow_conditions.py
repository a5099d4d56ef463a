"""Conditions of nodes and edges: who is skipped, and what an edge that does not fire carries."""

import json
from typing import Any

import pytest

from tests.workflows import edge, node, uid, workflow
from windlass.dialects.workflow import compile_workflow
from windlass.model.errors import DefinitionError
from windlass.model.states import RunState
from windlass.testing.played import Played


def played(nodes: list[Any], edges: list[Any] | None = None) -> Played:
    return Played(compile_workflow(workflow(nodes, edges)))


def states(run: Played, *names: str) -> list[str]:
    return [run.states().get(uid(name), "none") for name in names]


@pytest.mark.parametrize(
    ("condition", "results", "fires"),
    [
        ("results.y", {"y": True}, True),
        ("results.y", {"y": 1}, False),
        ({"path": "results.y", "equals": 3}, {"y": 3}, True),
        ({"path": "results.y", "equals": 3}, {"y": 4}, False),
        ({"path": "/results/y", "notEquals": 3}, {"y": 4}, True),
        ({"path": "results.y", "gt": 3, "lt": 5}, {"y": 4}, True),
        ({"path": "results.y", "gte": 3, "lte": 3}, {"y": 4}, False),
        ({"path": "results.y", "in": ["a", "b"]}, {"y": "b"}, True),
        ({"path": "results.y", "contains": "b"}, {"y": ["a", "b"]}, True),
        ({"path": "results.y", "exists": True}, {}, False),
        ({"path": "results.y", "exists": False}, {}, True),
        ({"path": "results.rows[1].n", "equals": 2}, {"rows": [{"n": 1}, {"n": 2}]}, True),
        ({"path": "parameters.p", "equals": "q"}, {}, True),
        ({"not": {"path": "results.y"}}, {"y": True}, False),
        ({"all": ["results.y", "results.z"]}, {"y": True, "z": False}, False),
        ({"any": ["results.y", "results.z"]}, {"y": True, "z": False}, True),
        ({"path": "results.status", "equals": "SUCCEEDED"}, {}, False),
    ],
)
def test_an_edge_fires_if_its_condition_holds(
    condition: object, results: dict[str, Any], fires: bool
) -> None:
    first = node("a", parameters={"p": "q"})
    run = played([first, node("b")], [edge("a", "b", condition=condition)])
    run.succeed(run.one(uid("a")).id, results)
    assert states(run, "b") == ["queued" if fires else "skipped"]


def test_an_edge_that_does_not_fire_carries_nothing() -> None:
    edges = [edge("a", "b", condition="results.go"), edge("c", "b", "out>also")]
    run = played([node("a"), node("c"), node("b", parameters={"x": "own"})], edges)
    run.succeed(run.one(uid("a")).id, {"y": 1, "go": False})
    run.succeed(run.one(uid("c")).id, {"y": 2})
    assert json.loads(run.one(uid("b")).input or "") == {"x": "own", "z": 2}


def test_a_branch_is_chosen_and_the_other_skipped_down_to_where_they_meet() -> None:
    edges = [
        edge("pick", "left", condition={"path": "results.way", "equals": "left"}),
        edge("pick", "right", condition={"path": "results.way", "equals": "right"}),
        edge("left", "end"),
        edge("right", "end", "out>also"),
    ]
    run = played([node(name) for name in ("pick", "left", "right", "end")], edges)
    run.succeed(run.one(uid("pick")).id, {"way": "right"})
    assert states(run, "left", "right", "end") == ["skipped", "queued", "pending"]
    run.succeed(run.one(uid("right")).id, {"y": 5})
    assert json.loads(run.one(uid("end")).input or "") == {"z": 5}
    run.succeed(run.one(uid("end")).id)
    assert run.state() is RunState.SUCCEEDED


def test_a_node_is_skipped_unless_its_condition_holds_for_its_parameters() -> None:
    when = {"when": {"path": "parameters.x", "gt": 10}}
    run = played(
        [node("a"), node("b", conditions=when), node("c")], [edge("a", "b"), edge("b", "c")]
    )
    run.succeed(run.one(uid("a")).id, {"y": 5})
    assert states(run, "b", "c") == ["skipped", "skipped"]
    assert run.state() is RunState.SUCCEEDED
    assert json.loads(run.one(uid("b")).input or "") == {"x": 5}
    again = played([node("a"), node("b", conditions=when)], [edge("a", "b")])
    again.succeed(again.one(uid("a")).id, {"y": 50})
    assert states(again, "b") == ["queued"]


def test_a_first_node_may_be_skipped_too() -> None:
    run = played([node("a", conditions={"when": "parameters.on"})])
    assert states(run, "a") == ["skipped"]
    assert run.state() is RunState.SUCCEEDED


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ({"path": "results.a", "equal": 1}, "is not an operator"),
        ({"path": "elsewhere"}, "neither parameters nor results"),
        ({"equals": 1}, "is missing"),
        ({"all": []}, "expected a list of conditions"),
        ({"path": "results.a", "in": 3}, "expected a list of values"),
        ({"path": "results.a", "exists": 1}, "expected true or false"),
        ({"path": "results.a", "prefix": "no"}, "names no node"),
        (3, "expected a condition"),
    ],
)
def test_a_condition_that_says_nothing_is_refused(condition: object, said: str) -> None:
    with pytest.raises(DefinitionError, match=said):
        played([node("a"), node("b")], [edge("a", "b", condition=condition)])

"""Input that edges fill, results that are checked, tasks that a worker skips."""

import json
from typing import Any

import pytest

from tests.workflows import edge, node, port, uid, workflow
from windlass.dialects.workflow import compile_workflow
from windlass.kernel.fills import MISSING, find, put
from windlass.model.rows import Attempt, Task, read_failure
from windlass.model.states import AttemptState, RunState, TaskState
from windlass.testing.played import Played


def played(nodes: list[Any], edges: list[Any] | None = None, **params: Any) -> Played:
    return Played(compile_workflow(workflow(nodes, edges)), params)


def given(run: Played, name: str) -> Any:
    return json.loads(run.one(uid(name)).input or "null")


@pytest.mark.parametrize(
    ("value", "path", "expected"),
    [
        ({}, ("a", "b"), {"a": {"b": 9}}),
        ({"a": {"c": 1}}, ("a", "b"), {"a": {"c": 1, "b": 9}}),
        ({"a": [1, 2]}, ("a", 1), {"a": [1, 9]}),
        ({"a": [1, 2]}, ("a", "0"), {"a": [9, 2]}),
        ({"a": [1]}, ("a", 1), {"a": [1, 9]}),
        ({"a": [1]}, ("a", 5), {"a": [1]}),
        ({"a": [1]}, ("a", "x"), {"a": [1]}),
        ({"a": [{"b": 1}]}, ("a", 0, "b"), {"a": [{"b": 9}]}),
        ({"a": 3}, ("a", "b"), {"a": {"b": 9}}),
        ({"a": None}, ("a", "b"), {"a": {"b": 9}}),
    ],
)
def test_a_value_is_put_at_a_path_and_what_is_missing_on_the_way_is_made(
    value: Any, path: tuple[Any, ...], expected: Any
) -> None:
    before = json.dumps(value)
    assert put(value, path, 9) == expected
    assert json.dumps(value) == before


def test_a_value_is_found_at_a_path_or_is_missing() -> None:
    value = {"a": [{"b": None}]}
    assert find(value, ("a", "0", "b")) is None
    assert find(value, ("a", 0, "c")) is MISSING
    assert find(value, ("a", 1)) is MISSING
    assert find(value, ("a", "b")) is MISSING


def test_a_missing_value_leaves_the_parameter_and_null_does_not() -> None:
    nodes = [node("a"), node("b", parameters={"x": "own", "z": "own"})]
    ui = {"outputPorts": [port("out", "results.y"), port("gone", "results.gone")]}
    nodes[0]["ui"] = ui
    run = played(nodes, [edge("a", "b"), edge("a", "b", "gone>also")])
    run.succeed(run.one(uid("a")).id, {"y": None})
    assert given(run, "b") == {"x": None, "z": "own"}


def test_the_last_to_finish_wins_the_same_place() -> None:
    nodes, edges = [node("a"), node("b"), node("c")], [edge("a", "c"), edge("b", "c")]
    for order in (["a", "b"], ["b", "a"]):
        run = played(nodes, edges)
        for name in order:
            run.succeed(run.one(uid(name)).id, {"y": name})
        assert given(run, "c") == {"x": order[-1]}


def test_an_empty_path_takes_an_object_for_all_parameters_and_nothing_else() -> None:
    target = node("b", ui={"inputPorts": [port("in", "parameters")]}, parameters={"own": 1})
    for result, expected in (({"n": 2}, {"n": 2}), ([1], {"own": 1})):
        run = played([node("a"), target], [edge("a", "b")])
        run.succeed(run.one(uid("a")).id, {"y": result})
        assert given(run, "b") == expected


def test_parameters_of_the_run_are_not_mixed_into_those_of_a_node() -> None:
    run = played([node("a", parameters={"p": 1})], p=2, q=3)
    assert given(run, "a") == {"p": 1}
    assert json.loads(run.claim(run.one(uid("a")).id).params) == {}


def test_every_node_has_one_task_whose_id_counts_no_steps() -> None:
    run = played([node("a"), node("b")], [edge("a", "b"), edge("a", "b", "all>also")])
    run.succeed(run.one(uid("a")).id)
    assert [task.id for task in run.tasks()] == [
        f"{run.row().id}~{uid('a')}.0",
        f"{run.row().id}~{uid('b')}.0",
    ]


# Schemas

TAKES = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
GIVES = {
    "type": "object",
    "properties": {
        "status": {"type": "string", "enum": ["PENDING", "RUNNING", "SUCCEEDED", "FAILED"]},
        "n": {"type": "integer"},
    },
    "required": ["status"],
}


def failure(task: Task) -> tuple[str, str, str]:
    found = read_failure(task.error)
    assert found is not None
    return found.kind, found.code, found.message


def test_parameters_are_checked_when_the_task_begins() -> None:
    run = played([node("a"), node("b", schema={"parameters": TAKES})], [edge("a", "b")])
    run.succeed(run.one(uid("a")).id, {"y": "secret"})
    task = run.one(uid("b"))
    assert task.state is TaskState.FAILED
    assert failure(task) == (
        "fatal",
        "E.CMD.INVALID_PARAMETERS",
        'parameters.x: this value is not of type "integer"',
    )
    assert given(run, "b") == {"x": "secret"}
    assert run.state() is RunState.FAILED


def test_a_result_is_laid_over_the_nodes_own_and_given_a_status() -> None:
    run = played([node("a", schema={"results": GIVES}, results={"status": "PENDING", "n": 0})])
    run.succeed(run.one(uid("a")).id, {"more": 1})
    assert json.loads(run.one(uid("a")).output or "") == {
        "status": "SUCCEEDED",
        "n": 0,
        "more": 1,
    }


@pytest.mark.parametrize("result", [{"n": "x"}, {"status": "ODD"}, [1], "text"])
def test_a_result_that_does_not_fit_fails_the_task_for_good_where_that_is_strict(
    result: Any,
) -> None:
    strict = {"strictResults": True}
    made = node("a", schema={"results": GIVES}, retry={"maxRetries": 3}, extensions=strict)
    run = played([made])
    task = run.one(uid("a"))
    assert run.succeed(task.id, result) == "accepted"
    assert run.succeed(task.id, result) == "duplicate"
    kind, code, _ = failure(run.one(uid("a")))
    assert (kind, code) == ("fatal", "E.RESULT.INVALID")
    [attempt] = run.tables[Attempt].values()
    assert isinstance(attempt, Attempt)
    assert attempt.state is AttemptState.FAILED
    assert json.loads(attempt.output or "") == result
    assert run.events()[-1].type == "attempt.failed"


def test_nothing_returned_is_an_empty_result() -> None:
    run = played([node("a", schema={"results": GIVES})])
    run.succeed(run.one(uid("a")).id, None)
    assert json.loads(run.one(uid("a")).output or "") == {}


# Skipping


def test_a_worker_may_skip_its_task_and_what_comes_after_is_skipped_too() -> None:
    run = played(
        [node("a", schema={"results": GIVES}), node("b"), node("c"), node("d")],
        [edge("a", "b"), edge("b", "d"), edge("c", "d", "out>also")],
    )
    run.succeed(run.one(uid("a")).id, {"why": "not today"}, skipped=True)
    task = run.one(uid("a"))
    assert task.state is TaskState.SKIPPED
    assert json.loads(task.output or "") == {"why": "not today"}
    assert run.states()[uid("b")] == "skipped"
    [attempt] = run.tables[Attempt].values()
    assert isinstance(attempt, Attempt)
    assert attempt.state is AttemptState.SUCCEEDED
    run.succeed(run.one(uid("c")).id, {"y": 1})
    assert given(run, "d") == {"z": 1}


def test_what_a_skipped_task_left_is_not_carried() -> None:
    run = played([node("a"), node("b"), node("c")], [edge("a", "c"), edge("b", "c", "out>also")])
    run.succeed(run.one(uid("a")).id, {"y": 1}, skipped=True)
    run.succeed(run.one(uid("b")).id, {"y": 2})
    assert given(run, "c") == {"z": 2}

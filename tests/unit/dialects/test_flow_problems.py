"""A bad definition is rejected with all its problems at once, each with path, reason and hint."""

from typing import Any

import pytest

from windlass.dialects.fields import LISTED_MAX
from windlass.dialects.flow import Limits, compile_flow
from windlass.model.errors import DefinitionError, Problem

CALL = {"service": "s"}


def problems(definition: object, **limits: int) -> list[Problem]:
    with pytest.raises(DefinitionError) as caught:
        compile_flow(definition, limits=Limits(**limits))
    return caught.value.problems


def found(definition: object) -> dict[str, str]:
    return {problem.path: problem.reason for problem in problems(definition)}


def of_node(**fields: Any) -> dict[str, str]:
    prefix = "nodes.n."
    given = found({"start": "n", "nodes": {"n": fields}})
    return {path.removeprefix(prefix): reason for path, reason in given.items()}


def chain(nodes: dict[str, Any], *edges: tuple[str, str, str]) -> dict[str, Any]:
    return {
        "start": next(iter(nodes)),
        "nodes": nodes,
        "edges": [{"from": source, "action": on, "to": to} for source, on, to in edges],
    }


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "null is given"),
        ([], "this is a list"),
        ("x", '"x" is a string'),
        (3, "3 is a number"),
        (True, "true is a boolean"),
    ],
)
def test_a_definition_is_an_object(value: object, said: str) -> None:
    assert f"{said}, expected an object" in found(value)["definition"]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"start": float("nan")}, "not a number"),
        ({"start": object()}, "JSON cannot carry"),
        ({1: 2}, "not a string"),
        ({"a": {True: 2}}, "not a string"),
        ({"\ud800": 1}, "surrogate"),
        ({"start": "\0"}, "NUL"),
    ],
)
def test_a_value_that_is_not_plain_json_is_refused_before_anything_else(
    value: object, reason: str
) -> None:
    [problem] = problems(value)
    assert reason in problem.reason


def test_everything_wrong_is_found_in_one_pass() -> None:
    definition = {
        "start": "fetch",
        "nodes": {
            "fetch": {"service": "s", "max_retries": "3", "tmeout_ms": 5},
            "lost": {"kind": "foreech"},
        },
        "edges": [{"from": "fetch", "to": "stroe"}, {"to": "fetch"}],
        "on_failure": "explode",
    }
    assert [str(problem) for problem in problems(definition)] == [
        'on_failure: "explode" is not known here (one of continue, fail)',
        'nodes.fetch.tmeout_ms: this field is not known here (did you mean "timeout_ms"?)',
        'nodes.fetch.max_retries: "3" is a string, expected a whole number',
        'nodes.lost.kind: "foreech" is not known here (did you mean "foreach"?)',
        'edges[0].to: there is no node "stroe"',
        "edges[1].from: the edge comes from nowhere (name a node)",
        'nodes.lost: no way leads here from "fetch" (add an edge to it, or remove it)',
    ]


def test_a_start_is_needed_and_must_be_a_node() -> None:
    assert found({"nodes": {"a": CALL}}) == {"start": "nothing says where to start"}
    [problem] = problems({"start": "fech", "nodes": {"fetch": CALL}})
    assert (problem.reason, problem.hint) == ('there is no node "fech"', 'did you mean "fetch"?')
    assert found({"start": 3, "nodes": {"a": CALL}}) == {"start": "3 is a number, expected text"}
    assert found({"start": "a"})["nodes"] == "there are no nodes"


def test_two_edges_on_one_action_are_a_problem() -> None:
    definition = chain({"a": CALL, "b": CALL}, ("a", "", "b"), ("a", "default", ""))
    assert found(definition) == {"edges[1]": 'edges[0] leaves "a" on "default" already'}


def test_every_node_out_of_reach_is_reported() -> None:
    definition = chain({"a": CALL, "b": CALL, "c": CALL, "d": CALL}, ("b", "", "c"), ("c", "", "b"))
    assert list(found(definition)) == ["nodes.b", "nodes.c", "nodes.d"]


def test_a_loop_through_work_is_fine_and_one_of_choices_alone_is_not() -> None:
    choice = {"kind": "choice", "default_action": "x"}
    compile_flow(chain({"a": choice, "b": CALL}, ("a", "x", "b"), ("b", "", "a")))
    spinning = chain({"a": choice, "b": choice}, ("a", "x", "b"), ("b", "x", "a"))
    assert found(spinning) == {"nodes.a": "choices lead in a circle: a → b → a"}
    alone = chain({"a": choice}, ("a", "x", "a"))
    assert found(alone) == {"nodes.a": "choices lead in a circle: a → a"}


@pytest.mark.parametrize("items", [[], None])
def test_a_foreach_that_is_written_without_items_is_no_work_in_a_loop(
    items: list[Any] | None,
) -> None:
    choice = {"kind": "choice", "default_action": "x"}
    each = {"kind": "foreach", **CALL, "prep": {"input_key": items} if items is not None else {}}
    loop = [("a", "x", "b"), ("b", "", "a")]
    told = {"nodes.a": "nodes that end at once lead in a circle: a → b → a"}
    assert found(chain({"a": choice, "b": each}, *loop)) == told
    compile_flow(chain({"a": choice, "b": {**each, "prep": {"input_key": [1]}}}, *loop))


def test_an_edge_a_choice_can_never_take_is_a_problem() -> None:
    case = {"action": "left", "expr": True}
    choice = {"kind": "choice", "choice_cases": [case], "default_action": "right"}
    edges = [("a", on, "") for on in ("left", "right", "default", "error", "timeout", "rigth")]
    [problem] = problems(chain({"a": choice}, *edges))
    assert problem == Problem(
        "edges[5].action", '"a" never gives the action "rigth"', 'did you mean "right"?'
    )
    keyed = {**choice, "post": {"action_key": "k"}}
    compile_flow(chain({"a": keyed}, *edges))


def test_keys_of_nodes_are_bounded_and_shown_readably() -> None:
    long = "k" * 201
    assert "201 characters" in found(chain({long: CALL}))[f'nodes["{"k" * 59}…"]']
    assert found({"start": "a", "nodes": {"a": CALL, "": CALL}})['nodes[""]']
    assert list(found(chain({"a b": {}}))) == ['nodes["a b"].service']


def test_a_field_spelt_twice_is_a_problem() -> None:
    assert of_node(service="s", Service="t") == {"Service": 'the same field as "service"'}


def test_a_wrong_type_says_what_is_there_and_what_should_be() -> None:
    assert of_node(
        service=5,
        params=[],
        prep="x",
        post={"output_map": {"a": 1}},
        wait_ms=1.5,
        timeout_ms=True,
        weighted_by_load="yes",
        jitter="much",
    ) == {
        "service": "5 is a number, expected text",
        "params": "this is a list, expected an object",
        "prep": '"x" is a string, expected an object',
        "post.output_map.a": "1 is a number, expected text",
        "wait_ms": "1.5 is a number, expected a whole number",
        "timeout_ms": "true is a boolean, expected a whole number",
        "weighted_by_load": '"yes" is a string, expected true or false',
        "jitter": '"much" is a string, expected a number',
    }


def test_numbers_must_make_sense() -> None:
    assert of_node(service="s", max_retries=-1, wait_ms=10**400, backoff=0.5, jitter=2) == {
        "max_retries": "-1 is out of range, expected at least 0",
        "wait_ms": "a huge number is out of range, expected at most 9007199254740991",
        "backoff": "0.5 is out of range, expected at least 1",
        "jitter": "2 is out of range, expected at most 1",
    }


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({}, "service"),
        ({"exec_type": "queue"}, "service"),
        ({"exec_type": "local_func"}, "func"),
        ({"exec_type": "local_script"}, "script"),
        ({"exec_type": "local_script", "script": {"args": []}}, "script"),
        ({"exec_type": "grpc", "service": "s"}, "exec_type"),
        ({"exec_type": "http", "exec_mode": "queue", "service": "s"}, "exec_mode"),
        ({"service": "s", "script": {"stdin_mode": "xml", "cmd": "x"}}, "script.stdin_mode"),
        ({"service": "s", "script": {"args": [1], "cmd": "x"}}, "script.args[0]"),
        ({"service": "s", "failure_strategy": "retry"}, "failure_strategy"),
        ({"kind": "parallel", "parallel_services": ["s"], "parallel_mode": "x"}, "parallel_mode"),
        ({"kind": "timer"}, "params.delay_ms"),
        ({"kind": "timer", "params": {"delay_ms": -1}}, "params.delay_ms"),
        ({"kind": "timer", "params": {"delay_ms": "5"}}, "params.delay_ms"),
        ({"kind": "timer", "params": {"delay_ms": True}}, "params.delay_ms"),
        ({"kind": "timer", "params": {"delay_ms": "$here.x"}}, "params.delay_ms"),
        ({"kind": "wait_event"}, "params.signal_key"),
        ({"kind": "wait_event", "params": {"signal_key": 5}}, "params.signal_key"),
        ({"kind": "approval", "params": {"prompt": 5}}, "params.prompt"),
        ({"kind": "approval", "params": {"timeout_ms": []}}, "params.timeout_ms"),
        ({"kind": "choice", "choice_cases": [{"expr": True}]}, "choice_cases[0].action"),
        ({"kind": "choice", "choice_cases": [{"action": "x"}]}, "choice_cases[0].expr"),
        ({"service": "s", "prep": {"input_key": "$shared"}}, "prep.input_key"),
        ({"service": "s", "prep": {"input_key": "a..b"}}, "prep.input_key"),
        ({"service": "s", "prep": {"input_map": {"a": "$x.y"}}}, "prep.input_map.a"),
    ],
)
def test_each_mistake_is_reported_where_it_stands(fields: dict[str, Any], place: str) -> None:
    assert list(of_node(**fields)) == [place]


def test_a_missing_service_hints_at_the_exec_type_that_was_meant() -> None:
    [problem] = problems(chain({"n": {"func": "mul"}}))
    assert problem.hint == "to call func, set exec_type: local_func"


def test_the_number_of_nodes_is_bounded_with_branches_and_subflows() -> None:
    fan = {"kind": "parallel", "parallel_services": ["s"] * 5}
    assert "more than 5 nodes" in problems(chain({"a": fan}), nodes_max=5)[0].reason
    assert len(compile_flow(chain({"a": fan}), limits=Limits(nodes_max=6)).nodes) == 6
    inner = {"kind": "subflow", "subflow": chain({"a": CALL, "b": CALL}, ("a", "", "b"))}
    [problem] = problems(chain({"a": inner}), nodes_max=2)
    assert problem.path == "nodes.a.subflow.nodes"


def test_a_flood_of_problems_is_cut_off_with_a_count() -> None:
    fields = {f"field{n}": 1 for n in range(LISTED_MAX + 50)}
    listed = problems(chain({"a": {**CALL, **fields}}))
    assert len(listed) == LISTED_MAX + 1
    assert listed[-1].reason == "50 more problems are not listed"

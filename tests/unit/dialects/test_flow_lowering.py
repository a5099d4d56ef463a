"""Nodes of every kind lower to what the kernel visits."""

from typing import Any

import pytest

from windlass.dialects.flow import compile_flow
from windlass.model.graph import (
    ActionRule,
    Case,
    Edge,
    Expr,
    Graph,
    Kind,
    Node,
    Output,
    Ref,
    Retry,
    Root,
    Target,
    Transport,
)


def node(**fields: Any) -> Node:
    return compile_flow({"start": "n", "nodes": {"n": fields}}).nodes["n"]


def graph(nodes: dict[str, Any], edges: list[dict[str, Any]], **top: Any) -> Graph:
    return compile_flow({"start": next(iter(nodes)), "nodes": nodes, "edges": edges, **top})


def test_a_flow_is_its_nodes_its_edges_and_a_start() -> None:
    made = graph(
        {"a": {"service": "s"}, "b/c": {"service": "t"}},
        [{"from": "a", "to": "b/c"}, {"from": "a", "action": "error", "to": ""}, {"from": "b/c"}],
    )
    assert made == Graph(
        starts={"": ("a",)},
        nodes={
            "a": Node("a", Kind.CALL, target=Target(Transport.PUSH, "s")),
            "b%2Fc": Node("b%2Fc", Kind.CALL, target=Target(Transport.PUSH, "t")),
        },
        edges={
            "a": (Edge("a", "default", "b%2Fc"), Edge("a", "error", None)),
            "b%2Fc": (Edge("b%2Fc", "default", None),),
        },
    )


def test_a_failed_node_ends_the_run_only_if_the_flow_says_so() -> None:
    nodes = {"a": {"service": "s"}}
    assert not graph(nodes, []).fails_run
    assert not graph(nodes, [], on_failure="continue").fails_run
    assert graph(nodes, [], on_failure="fail").fails_run


@pytest.mark.parametrize("kind", [None, "", "executor", "remote", "local"])
def test_a_node_without_a_special_kind_calls(kind: str | None) -> None:
    assert node(kind=kind, service="s").kind is Kind.CALL


@pytest.mark.parametrize(
    ("fields", "target"),
    [
        ({"service": "s"}, Target(Transport.PUSH, "s")),
        ({"service": "s", "exec_type": "http"}, Target(Transport.PUSH, "s")),
        ({"service": "s", "exec_type": "queue"}, Target(Transport.PULL, "s")),
        ({"service": "s", "exec_mode": "queue"}, Target(Transport.PULL, "s")),
        ({"func": "f", "exec_type": "local_func"}, Target(Transport.LOCAL, "f")),
        (
            {"exec_type": "local_script", "script": {"CMD": "ls", "args": ["-l"]}},
            Target(Transport.SCRIPT, "script", {"cmd": "ls", "args": ["-l"]}),
        ),
    ],
)
def test_exec_type_says_how_a_call_reaches_its_executor(
    fields: dict[str, Any], target: Target
) -> None:
    assert node(**fields).target == target


def test_a_script_keeps_every_field_it_is_given() -> None:
    script = {
        "code": "print(1)",
        "language": "python",
        "timeout_ms": 100,
        "env": {"A": "b"},
        "work_dir": "sub",
        "stdin_mode": "json",
        "output_mode": "json",
    }
    target = node(exec_type="local_script", script=script).target
    assert target is not None
    assert target.script == script


def test_field_names_match_whatever_their_case_and_null_is_absent() -> None:
    made = node(Service="s", MAX_RETRIES=2, Prep={"Input_Key": "$params.a"}, wait_ms=None)
    assert made.retry == Retry(retries_max=2)
    assert made.input == Ref(Root.PARAMS, ("a",))


def test_notes_of_people_and_editors_change_nothing() -> None:
    notes = {"description": "d", "title": "t", "name": "n", "ui": {"x": 1}, "position": [1, 2]}
    assert node(service="s", **notes, **{"x-owner": "me", "choice_key": "k"}) == node(service="s")


def test_retry_settings_are_read_with_their_defaults() -> None:
    assert node(service="s").retry == Retry()
    given = {
        "max_retries": 3,
        "wait_ms": 10,
        "backoff": 2,
        "max_wait_ms": 100,
        "jitter": 0.5,
        "max_attempts": 4,
        "attempt_delay_ms": 7,
    }
    assert node(service="s", **given).retry == Retry(3, 10, 2.0, 100, 0.5, 4, 7)
    assert node(service="s", max_attempts=0).retry.moves_max is None


def test_whole_numbers_may_be_written_with_a_point() -> None:
    assert node(service="s", timeout_ms=1e3).timeout_ms == 1000


def test_an_input_key_is_a_reference_or_a_path_into_shared() -> None:
    assert node(service="s").input is None
    assert node(service="s", prep={"input_key": "$params.a[1]"}).input == Ref(Root.PARAMS, ("a", 1))
    assert node(service="s", prep={"input_key": "rows.0"}).input == Ref(Root.SHARED, ("rows", "0"))


def test_an_input_map_beats_an_input_key_even_if_it_is_empty() -> None:
    assert node(service="s", prep={"input_map": {}, "input_key": "x"}).input == {}


def test_plain_text_in_an_input_map_names_what_a_node_writes_or_stands_for_itself() -> None:
    made = graph(
        {
            "a": {"service": "s", "post": {"output_key": "rows", "output_map": {"total": "n"}}},
            "b": {
                "service": "s",
                "prep": {
                    "input_map": {
                        "first": "rows[0]",
                        "sum": "total",
                        "title": "Default Title",
                        "odd": "a..b",
                        "empty": "",
                        "param": "$params.x",
                        "price": "$$5",
                        "many": ["$params.x"],
                        "none": None,
                    }
                },
            },
        },
        [{"from": "a", "to": "b"}],
    )
    assert made.nodes["b"].input == {
        "first": Ref(Root.SHARED, ("rows", 0)),
        "sum": Ref(Root.SHARED, ("total",)),
        "title": Ref(Root.SHARED_OR_LITERAL, ("Default Title",), "Default Title"),
        "odd": Ref(Root.LITERAL, literal="a..b"),
        "empty": Ref(Root.LITERAL, literal=""),
        "param": Ref(Root.PARAMS, ("x",)),
        "price": Ref(Root.LITERAL, literal="$5"),
        "many": Ref(Root.LITERAL, literal=["$params.x"]),
        "none": Ref(Root.LITERAL),
    }


def test_post_says_where_results_go_and_which_edge_is_next() -> None:
    made = node(
        service="s",
        default_action="d",
        post={"output_key": "o", "output_map": {"k": "f"}, "action_static": "s", "action_key": "a"},
    )
    assert made.output == Output("o", {"k": "f"})
    assert made.action == ActionRule("s", "a", "d")


def test_a_choice_keeps_its_cases_in_order() -> None:
    cases = [
        {"action": "x", "expr": {"eq": ["$params.p", 1]}},
        {"action": "y", "expr": {"and": []}},
    ]
    made = node(kind="choice", choice_cases=cases, default_action="x")
    one = Ref(Root.LITERAL, literal=1)
    assert made.kind is Kind.CHOICE
    assert made.cases == (
        Case("x", Expr("eq", (Ref(Root.PARAMS, ("p",)), one))),
        Case("y", Expr("and")),
    )


def test_a_timer_waits_for_a_number_or_a_reference() -> None:
    assert node(kind="timer", params={"delay_ms": 0}).delay == Ref(Root.LITERAL, literal=0)
    assert node(kind="timer", params={"delay_ms": 1.5}).delay == Ref(Root.LITERAL, literal=1.5)
    assert node(kind="timer", params={"delay_ms": "$params.d"}).delay == Ref(Root.PARAMS, ("d",))


def test_a_wait_names_its_signal_and_may_give_up() -> None:
    made = node(kind="wait_event", params={"signal_key": "$shared.flag", "timeout_ms": 5})
    assert (made.kind, made.signal) == (Kind.WAIT, Ref(Root.SHARED, ("flag",)))
    assert made.wait_timeout == Ref(Root.LITERAL, literal=5)
    patient = node(kind="wait_event", params={"signal_key": "flag", "timeout_ms": 0})
    assert (patient.signal, patient.wait_timeout) == (Ref(Root.SHARED, ("flag",)), None)


def test_an_approval_may_be_answered_in_the_inbox_alone() -> None:
    made = node(kind="approval", params={"approval_key": "$shared.ok", "prompt": "Ship it?"})
    assert (made.kind, made.signal, made.prompt) == (
        Kind.APPROVAL,
        Ref(Root.SHARED, ("ok",)),
        "Ship it?",
    )
    assert node(kind="approval").signal is None

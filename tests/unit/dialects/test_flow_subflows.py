"""Subflows stand in the same flat graph, under longer paths."""

from typing import Any

import pytest

from windlass.dialects.flow import Limits, compile_flow
from windlass.model.errors import DefinitionError
from windlass.model.graph import Edge, Graph, Kind, Ref, Root, Target, Transport


def flow(sub: dict[str, Any], **fields: Any) -> Graph:
    node = {"kind": "subflow", "subflow": sub, **fields}
    return compile_flow({"start": "sub", "nodes": {"sub": node}})


def one(**fields: Any) -> dict[str, Any]:
    return {"start": "a", "nodes": {"a": fields}}


def reasons(sub: dict[str, Any], **fields: Any) -> dict[str, str]:
    with pytest.raises(DefinitionError) as caught:
        flow(sub, **fields)
    return {problem.path: problem.reason for problem in caught.value.problems}


def test_nodes_and_edges_of_a_subflow_stand_below_its_node() -> None:
    body = {
        "start": "a",
        "nodes": {"a": {"service": "s"}, "b": {"kind": "parallel", "parallel_services": ["t"]}},
        "edges": [{"from": "a", "to": "b"}],
    }
    made = flow(body, post={"output_key": "o"})
    assert set(made.nodes) == {"sub", "sub/a", "sub/b", "sub/b/0"}
    assert made.starts == {"": ("sub",), "sub": ("sub/a",)}
    assert made.edges == {"sub/a": (Edge("sub/a", "default", "sub/b"),)}
    assert made.nodes["sub"].kind is Kind.SUBFLOW
    assert made.nodes["sub"].target is None


def test_each_scope_has_shared_keys_of_its_own() -> None:
    inner = one(service="s", prep={"input_map": {"v": "outer_key"}}, post={"output_key": "k"})
    made = flow(inner, post={"output_key": "outer_key"})
    assert made.nodes["sub/a"].input == {
        "v": Ref(Root.SHARED_OR_LITERAL, ("outer_key",), "outer_key")
    }


def test_a_sub_node_falls_back_to_how_its_subflow_calls() -> None:
    made = flow(one(), exec_type="local_func", func="mul")
    assert made.nodes["sub/a"].target == Target(Transport.LOCAL, "mul")
    assert reasons(one(), service="s") == {
        "nodes.sub.subflow.nodes.a.service": "no service to call"
    }


def test_an_override_replaces_the_target_and_lays_its_params_over() -> None:
    spec = {"node": "a", "exec_type": "local_func", "func": "mul", "params": {"mul": 7}}
    made = flow(one(service="s", params={"mul": 2, "x": 1}), subflow_execs=[spec])
    assert made.nodes["sub/a"].target == Target(Transport.LOCAL, "mul")
    assert made.nodes["sub/a"].params == {"mul": 7, "x": 1}


def test_an_override_of_params_alone_keeps_the_target() -> None:
    made = flow(
        one(exec_type="queue", service="s"), subflow_execs=[{"node": "a", "params": {"x": 1}}]
    )
    assert made.nodes["sub/a"].target == Target(Transport.PULL, "s")


def test_an_override_is_never_half_a_target() -> None:
    body = one(exec_type="local_func", func="mul")
    made = flow(body, subflow_execs=[{"node": "a", "service": "s"}])
    assert made.nodes["sub/a"].target == Target(Transport.PUSH, "s")


def test_an_override_may_set_the_params_a_waiting_node_reads() -> None:
    made = flow(one(kind="timer"), subflow_execs=[{"node": "a", "params": {"delay_ms": 5}}])
    assert made.nodes["sub/a"].delay == Ref(Root.LITERAL, literal=5)


def test_overrides_that_fit_nothing_are_problems() -> None:
    specs = [{"node": "aa"}, {"params": {}}, {"node": "a"}, {"node": "a"}]
    assert reasons(one(service="s"), subflow_execs=specs) == {
        "nodes.sub.subflow_execs[0].node": 'the subflow has no node "aa"',
        "nodes.sub.subflow_execs[1].node": "the entry names no node of the subflow",
        "nodes.sub.subflow_execs[3].node": '"a" has an entry already',
    }
    timer = one(kind="timer", params={"delay_ms": 1})
    assert reasons(timer, subflow_execs=[{"node": "a", "service": "s"}]) == {
        "nodes.sub.subflow_execs[0]": "the timer node it names calls nothing"
    }


def test_a_subflow_without_a_body_is_a_problem() -> None:
    with pytest.raises(DefinitionError, match="the subflow node has no body"):
        compile_flow({"start": "a", "nodes": {"a": {"kind": "subflow"}}})


def nested(levels: int) -> dict[str, Any]:
    body: dict[str, Any] = one(service="s")
    for _ in range(levels):
        body = one(kind="subflow", subflow=body)
    return body


def test_subflows_nest_as_deep_as_the_limit_and_no_deeper() -> None:
    deep = compile_flow(nested(32))
    assert "/".join(["a"] * 33) in deep.nodes
    with pytest.raises(DefinitionError, match="deeper than 32 levels"):
        compile_flow(nested(33))
    with pytest.raises(DefinitionError, match="deeper than 1 levels"):
        compile_flow(nested(2), limits=Limits(levels_max=1))


def test_keys_on_the_way_down_are_bounded_together() -> None:
    """The path of a node is a part of its tasks' ids, which are kept in indexes."""

    def nested_under(key: str, levels: int) -> dict[str, Any]:
        body: dict[str, Any] = {"start": key, "nodes": {key: {"service": "s"}}, "edges": []}
        for _ in range(levels):
            node = {"kind": "subflow", "subflow": body}
            body = {"start": key, "nodes": {key: node}, "edges": []}
        return body

    key = "k" * 200
    assert "/".join([key] * 3) in compile_flow(nested_under(key, 2)).nodes
    with pytest.raises(DefinitionError, match="on the way here have more than 800 characters"):
        compile_flow(nested_under(key, 3))


def test_problems_inside_a_subflow_carry_the_whole_path() -> None:
    body = {"start": "b", "nodes": {"a": {"servce": "s"}}, "edges": [{"from": "a", "to": "z"}]}
    assert reasons(body) == {
        "nodes.sub.subflow.nodes.a.servce": "this field is not known here",
        "nodes.sub.subflow.nodes.a.service": "no service to call",
        "nodes.sub.subflow.start": 'there is no node "b"',
        "nodes.sub.subflow.edges[0].to": 'there is no node "z"',
    }

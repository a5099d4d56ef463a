"""`limits` in a flow: keys of texts and references, what they allow, what is wrong with them."""

from typing import Any

import pytest

from windlass.dialects.flow import compile_flow
from windlass.model.errors import DefinitionError
from windlass.model.graph import Ref, Root


def flow(*limits: Any, kind: str = "executor", **more: Any) -> dict[str, Any]:
    node = {"kind": kind, "service": "s", "exec_type": "queue", "limits": list(limits), **more}
    return {"start": "a", "nodes": {"a": node}}


def problems(definition: Any) -> str:
    with pytest.raises(DefinitionError) as refused:
        compile_flow(definition)
    return str(refused.value)


def test_a_key_is_made_of_texts_and_references() -> None:
    text = "bank:$params.customer/${params.a-b}:$input.rows[0].id-$$x"
    (limit,) = compile_flow(flow({"key": text, "max": 5})).nodes["a"].limits
    assert limit.key == (
        "bank:",
        Ref(Root.PARAMS, ("customer",)),
        "/",
        Ref(Root.PARAMS, ("a-b",)),
        ":",
        Ref(Root.INPUT, ("rows", 0, "id")),
        "-",
        "$",
        "x",
    )
    assert (limit.text, limit.max, limit.rate) == (text, 5, 0)


def test_a_rate_has_a_time_and_a_burst_of_one_in_a_hundred_unless_they_are_given() -> None:
    graph = compile_flow(
        flow({"key": "a", "rate": 50}, {"key": "b", "rate": 1000, "per_s": 0.5, "burst": 7})
    )
    first, second = graph.nodes["a"].limits
    assert (first.rate, first.per_ms, first.burst) == (50, 1000, 1)
    assert (second.rate, second.per_ms, second.burst) == (1000, 500, 7)


def test_limits_of_a_flow_a_subflow_and_a_fan_out_hold_for_the_calls_inside() -> None:
    call = {"service": "s", "exec_type": "queue", "limits": [{"key": "own", "max": 1}]}
    inner = {"start": "x", "nodes": {"x": call}}
    sub = {"kind": "subflow", "subflow": inner, "limits": [{"key": "sub", "max": 1}]}
    each = {"kind": "foreach", "service": "s", "exec_type": "queue"}
    each["prep"] = {"input_key": "$params.items"}  # type: ignore[assignment]
    graph = compile_flow(
        {
            "start": "sub",
            "nodes": {"sub": sub, "each": each},
            "edges": [{"from": "sub", "to": "each"}],
            "limits": [{"key": "all", "max": 9}],
        }
    )
    assert [limit.text for limit in graph.nodes["sub/x"].limits] == ["all", "sub", "own"]
    assert [limit.text for limit in graph.nodes["each/*"].limits] == ["all"]


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        ({"max": 1}, "the limit has no key"),
        ({"key": "k"}, "the limit allows everything"),
        ({"key": "k", "max": 0}, "at least 1"),
        ({"key": "k", "max": "5"}, "expected a whole number"),
        ({"key": "k", "max": 10**9}, "more than"),
        ({"key": "k", "rate": 1, "per_s": 0}, "out of range"),
        ({"key": "k", "max": 1, "burst": 2}, "no rate it could belong to"),
        ({"key": "$shared.x", "max": 1}, "cannot be part of a key"),
        ({"key": "$nothing.x", "max": 1}, "refers to nothing"),
        ({"key": "k" * 201, "max": 1}, "200 characters"),
        ({"key": "k", "most": 1}, "not known here"),
        ("k", "expected an object"),
    ],
)
def test_what_is_wrong_with_a_limit_is_said_where_it_stands(limit: Any, said: str) -> None:
    text = problems(flow(limit))
    assert "nodes.a.limits[0]" in text
    assert said in text


def test_only_what_calls_something_has_limits() -> None:
    timer = flow({"key": "k", "max": 1}, kind="timer", params={"delay_ms": 1})
    assert "calls nothing" in problems(timer)
    assert "at most 8" in problems(flow(*[{"key": "k", "max": 1}] * 9))


def test_keys_of_environments_are_not_for_limits() -> None:
    with pytest.raises(DefinitionError, match="of environments"):
        compile_flow(flow({"key": "env:box", "max": 5}))

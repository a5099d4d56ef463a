"""Schemas whose reasons would fill the memory judge values all the same, and quickly."""

import json
import time
from typing import Any

import pytest

from tests.workflows import node, workflow
from windlass.dialects.workflow import check_workflow
from windlass.engine.params import checked_params
from windlass.kernel.schemas import flaw_of
from windlass.model.errors import BadRequest, DefinitionError
from windlass.model.schema_work import TOO_LONG, TOO_MANY, explainable, judgeable

QUICK_S = 1.0
REFUSED = f"{TOO_MANY}|{TOO_LONG}"
REFUSED_PARAMETERS = (f"parameters: {TOO_MANY}", f"parameters: {TOO_LONG}")


def bomb(wide: int, deep: int) -> dict[str, Any]:
    """Alternatives that refer to alternatives."""
    defs: dict[str, Any] = {
        f"d{at}": {"anyOf": [{"$ref": f"#/$defs/d{at + 1}"}] * wide} for at in range(deep)
    }
    defs[f"d{deep}"] = {"type": "integer"}
    return {"type": "object", "$defs": defs, "properties": {"x": {"$ref": "#/$defs/d0"}}}


def nested(depth: int) -> Any:
    value: Any = "no"
    for _ in range(depth):
        value = [value]
    return value


LISTS: dict[str, Any] = {"type": "array", "items": {"$ref": "#/$defs/l"}}
TWICE: dict[str, Any] = {
    "type": "object",
    "$defs": {"l": {"anyOf": [LISTS, LISTS]}},
    "properties": {"x": {"$ref": "#/$defs/l"}},
}
MANY: dict[str, Any] = {
    "type": "object",
    "properties": {"x": {"items": {"anyOf": [{"const": at} for at in range(2_000)]}}},
}
HUGE = [
    (bomb(50, 4), {"x": "no"}),
    (TWICE, {"x": nested(40)}),
    (MANY, {"x": ["no"] * 5_000}),
    (
        {"type": "object", "properties": {"x": {"items": {"enum": [[n] for n in range(2_000)]}}}},
        {"x": ["no"] * 2_000},
    ),
    ({"type": "object", "properties": {"x": {"items": {"type": "null"}}}}, {"x": [1] * 160_000}),
]


@pytest.mark.parametrize(("schema", "value"), HUGE)
def test_nobody_is_told_millions_of_reasons(schema: dict[str, Any], value: dict[str, Any]) -> None:
    text, began = json.dumps(schema), time.thread_time()
    assert flaw_of(value, text, "parameters") in REFUSED_PARAMETERS
    assert flaw_of(value, text, "results", lambda part: part is None)
    with pytest.raises(BadRequest, match=REFUSED):
        checked_params(text, json.dumps(value), "f")
    with pytest.raises(DefinitionError, match=REFUSED):
        check_workflow(workflow([node("a", schema={"parameters": schema}, parameters=value)]))
    assert time.thread_time() - began < 4 * QUICK_S


@pytest.mark.parametrize("value", [{"x": 1}, {}])
def test_what_meets_such_a_schema_is_taken(value: dict[str, Any]) -> None:
    text = json.dumps(bomb(50, 4))
    assert flaw_of(value, text, "parameters") == ""
    assert checked_params(text, json.dumps(value), "f")


def test_a_schema_that_only_refers_to_itself_ends() -> None:
    around: dict[str, Any] = {"$ref": "#/$defs/l"}
    assert not explainable({"$defs": {"l": around}, "properties": {"x": around}}, {"x": 1})


def test_ordinary_schemas_are_explained() -> None:
    tree: dict[str, Any] = {
        "type": "object",
        "$defs": {"t": {"properties": {"sub": {"type": "array", "items": {"$ref": "#/$defs/t"}}}}},
        "properties": {"t": {"$ref": "#/$defs/t"}, "n": {"type": "integer"}},
    }
    value = {"t": {"sub": [{"sub": []}, {"sub": 3}]}, "n": "x"}
    assert explainable(tree, value)
    assert flaw_of(value, json.dumps(tree), "parameters").startswith("parameters.")


LISTED: dict[str, Any] = {"enum": [{"k": at} for at in range(20_000)]}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (bomb(50, 6), {"x": 1}),
        ({"type": "object", "properties": {"x": {"items": LISTED}}}, {"x": [{"k": 7}] * 20_000}),
        (bomb(1, 5_000), {"x": 1}),
        ({**bomb(50, 6), "properties": {"x": {"$dynamicRef": "#/$defs/d0"}}}, {"x": 1}),
    ],
)
def test_what_takes_minutes_to_judge_is_refused_at_once(
    schema: dict[str, Any], value: dict[str, Any]
) -> None:
    text, began = json.dumps(schema), time.thread_time()
    with pytest.raises(BadRequest, match=TOO_LONG):
        checked_params(text, json.dumps(value), "f")
    assert flaw_of(value, text, "results") == f"results: {TOO_LONG}"
    assert time.thread_time() - began < QUICK_S


def test_trees_of_many_kinds_are_judged() -> None:
    kinds = [
        {"properties": {"kind": {"const": at}, "of": {"items": {"$ref": "#/$defs/tree"}}}}
        for at in range(12)
    ]
    schema = {"$defs": {"tree": {"anyOf": kinds}}, "properties": {"x": {"$ref": "#/$defs/tree"}}}
    tree: dict[str, Any] = {"kind": 0}
    for _ in range(12):
        tree = {"kind": 1, "of": [tree, tree]} if len(str(tree)) < 3_000 else {"of": [tree]}
    assert judgeable(schema, {"x": tree})


def test_long_lists_of_objects_with_many_fields_are_judged() -> None:
    fields = {f"f{at}": {"type": "integer"} for at in range(30)}
    schema = {"type": "object", "properties": {"x": {"items": {"properties": fields}}}}
    assert judgeable(schema, {"x": [dict.fromkeys(fields, 1)] * 50_000})

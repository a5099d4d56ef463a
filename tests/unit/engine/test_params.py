"""Declared parameters: what does not fit is refused when a run is started, on every surface."""

from dataclasses import dataclass
from typing import Any, Literal

import pytest

from windlass import Flow
from windlass.dialects.flow import compile_flow
from windlass.model.errors import BadRequest, DefinitionError
from windlass.testing.local import local_engine

pytestmark = pytest.mark.anyio


def orders(**more: Any) -> Flow:
    flow = Flow("orders", **more)
    flow.step("see", "see", transport="local", output="seen")
    return flow


def see(given: Any, params: dict[str, Any]) -> Any:
    return params


@dataclass
class Order:
    count: int
    note: str = "none"
    size: Literal["s", "l"] = "s"


BY_NAME = {"count": int, "note": (str, "none"), "size": (Literal["s", "l"], "s")}


@pytest.mark.parametrize("params", [BY_NAME, Order])
async def test_parameters_declared_by_types_are_checked_when_a_run_starts(params: Any) -> None:
    flow = orders(params=params).compile()
    async with local_engine({"see": see}) as engine:
        ended = await engine.run(flow, {"count": 3})
        assert ended.shared["seen"] == {"count": 3, "note": "none", "size": "s"}
        slips: list[tuple[dict[str, Any], str]] = [
            ({"cuont": 3}, 'no parameter "cuont"; did you mean "count"?'),
            ({}, 'the parameter "count" is missing'),
            ({"count": "3"}, 'the parameter "count": this value is not of type "integer"'),
            ({"count": "3"}, "count:=…"),
            ({"count": 3, "size": "m"}, 'the parameter "size"'),
        ]
        for wrong, told in slips:
            with pytest.raises(BadRequest) as caught:
                await engine.start(flow, wrong)
            assert told in str(caught.value)


async def test_a_flow_that_declares_nothing_takes_anything() -> None:
    async with local_engine({"see": see}) as engine:
        ended = await engine.run(orders().compile(), {"cuont": 3})
    assert ended.shared["seen"] == {"cuont": 3}


def test_the_schema_may_let_other_names_pass() -> None:
    schema = {"properties": {"a": {"type": "integer"}}, "additionalProperties": True}
    assert orders(params=schema).compile()["params"] == schema
    assert '"additionalProperties":true' in compile_flow(orders(params=schema).compile()).params
    assert compile_flow(orders().compile()).params == ""


@pytest.mark.parametrize(
    "params", [[], "x", {"type": "array"}, {"count": "integer"}, {"properties": {"a": {"type": 3}}}]
)
def test_what_is_no_schema_is_refused_when_it_is_published(params: Any) -> None:
    definition = {**orders().compile(), "params": params}
    with pytest.raises(DefinitionError) as caught:
        compile_flow(definition)
    assert [problem.path for problem in caught.value.problems] == ["params"]

"""The services that every scheduler of this family has."""

import asyncio
from typing import Any

import pytest

from windlass.worker import Context, ServiceError
from windlass.worker.builtin import local, worker
from windlass.worker.registry import Service


def call(service: Service, given: Any = None, **params: Any) -> Any:
    args, kwargs = service.binder.arguments(Context(), given, params)
    return asyncio.run(service.handler(*args, **kwargs))


@pytest.mark.parametrize(
    ("name", "given", "params", "expected"),
    [
        ("transform", "abc", {"op": "upper"}, "ABC"),
        ("transform", "ABC", {"op": "lower"}, "abc"),
        ("transform", 2, {"mul": 3}, 6),
        ("transform", 2, {}, 2),
        ("transform", 2, {"mul": 1.5}, 3),
        ("transform", 1, {"mul": 0.5}, 0.5),
        ("sum", [1, "2", "x", None, 3.5, True], {}, 6.5),
        ("sum", [], {}, 0),
        ("route", None, {}, {"action": "goB"}),
        ("route", None, {"action": "goC"}, {"action": "goC"}),
        ("async-transform", {"text": "a", "title": "T"}, {}, "[T] A"),
        ("async-transform", "a", {}, "A (ASYNC PROCESSED)"),
        ("async-transform", None, {"text": "a"}, "A (ASYNC PROCESSED)"),
        ("email-service", None, {"to": "x@y"}, {"status": "sent", "to": "x@y"}),
    ],
)
def test_a_service_answers_as_the_contract_says(
    name: str, given: Any, params: dict[str, Any], expected: Any
) -> None:
    assert call(worker.services[name], given, **params) == expected


@pytest.mark.parametrize(
    ("name", "given", "params", "message"),
    [
        ("transform", "abc", {"op": "spin"}, "unsupported op"),
        ("transform", None, {}, "bad input"),
        ("transform", True, {}, "bad input"),
        ("sum", 3, {}, "bad input"),
    ],
)
def test_a_service_refuses_what_it_cannot_use(
    name: str, given: Any, params: dict[str, Any], message: str
) -> None:
    with pytest.raises(ServiceError, match=message):
        call(worker.services[name], given, **params)


def test_local_functions() -> None:
    assert call(local.services["mul"], 2, mul=4) == 8
    assert call(local.services["mul"], "x", mul=4) == 0
    assert call(local.services["upper"], "x") == "X"
    assert call(local.services["upper"], None, text="t") == "T"
    assert call(local.services["log_result"], {"a": 1}) == {"a": 1}
    with pytest.raises(ServiceError):
        call(local.services["upper"])

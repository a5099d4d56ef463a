# ruff: noqa: A002, A006  handlers do name a parameter "input"
"""How inputs and params become a handler's arguments."""

from dataclasses import dataclass
from typing import Any

import pytest

from windlass.worker import Context, PermanentError
from windlass.worker.binding import Binder

CONTEXT = Context(attempt_id="r~a.0@1")


def call(handler: Any, given: Any = None, params: dict[str, Any] | None = None) -> Any:
    args, kwargs = Binder(handler).arguments(CONTEXT, given, params or {})
    return handler(*args, **kwargs)


def test_context_input_and_params_are_given_by_name_in_any_selection() -> None:
    assert call(lambda ctx, input, params: (ctx, input, params), 1, {"a": 2}) == (
        CONTEXT,
        1,
        {"a": 2},
    )
    assert call(lambda params: params, 1, {"a": 2}) == {"a": 2}
    assert call(lambda input: input, 1) == 1
    assert call(lambda: "none", 1) == "none"


def test_a_single_other_parameter_gets_the_whole_input() -> None:
    assert call(lambda rows: rows, [1, 2]) == [1, 2]
    assert call(lambda ctx, rows: rows, {"a": 1}) == {"a": 1}
    assert call(lambda thing, /: thing, 3) == 3


def test_a_single_parameter_named_like_a_field_gets_the_field() -> None:
    assert call(lambda ctx, url: url, {"url": "u"}) == "u"


def test_several_parameters_come_from_the_fields_then_the_params_then_their_defaults() -> None:
    def handler(url: str, depth: int, limit: int = 7) -> tuple[str, int, int]:
        return url, depth, limit

    assert call(handler, {"url": "u"}, {"depth": 2}) == ("u", 2, 7)
    assert call(handler, {"url": "u", "limit": 1}, {"depth": 2}) == ("u", 2, 1)


def test_a_missing_field_is_a_permanent_error_that_names_it() -> None:
    with pytest.raises(PermanentError, match='"depth"'):
        call(lambda url, depth: None, {"url": "u"})


def test_further_keywords_get_every_field() -> None:
    assert call(lambda **fields: fields, {"a": 1, "b": 2}) == {"a": 1, "b": 2}


@dataclass
class Page:
    url: str


def test_annotated_data_classes_are_made_from_objects() -> None:
    def handler(input: Page) -> str:
        return input.url

    assert call(handler, {"url": "u"}) == "u"
    with pytest.raises(PermanentError, match="does not fit"):
        call(handler, {"link": "u"})


def test_type_hints_are_enforced() -> None:
    def charge(count: int, note: str = "", ratio: float = 0.5, tags: set[str] | None = None) -> Any:
        return count, note, ratio, tags

    assert call(charge, {"count": 3.0, "ratio": 1, "tags": ["a"]}) == (3, "", 1.0, {"a"})
    for wrong in {"count": "abc"}, {"count": True}, {"count": 1, "tags": "a"}, {"count": None}:
        with pytest.raises(PermanentError, match="does not fit the service: Expected"):
            call(charge, wrong)


class Own:
    """A class JSON says nothing about."""


def test_hints_that_json_says_nothing_about_are_left_alone() -> None:
    def handler(thing: Own, things: "list[Own]", some: "object", left: int = None) -> Any:  # type: ignore[assignment]  # noqa: RUF013
        return thing, things, some, left

    given = {"thing": 1, "things": [2], "some": "x", "left": None}
    assert call(handler, given) == (1, [2], "x", None)

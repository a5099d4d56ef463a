"""Conditions hold or do not, for any values their references read."""

import time
from typing import Any

import pytest

from windlass.kernel.expressions import holds, refs_of
from windlass.model.graph import Expr, Ref, Root


def literal(value: Any) -> Ref:
    return Ref(Root.LITERAL, literal=value)


def check(op: str, *values: Any) -> bool:
    return holds(Expr(op, tuple(literal(value) for value in values)), lambda ref: ref.literal)


TRUE, FALSE = Expr("and"), Expr("or")


def test_and_or_and_not_are_what_they_are_in_logic() -> None:
    def result(op: str, *parts: Expr) -> bool:
        return holds(Expr(op, parts), lambda ref: ref.literal)

    assert result("and")
    assert not result("or")
    assert result("and", TRUE, TRUE)
    assert not result("and", TRUE, FALSE)
    assert result("or", FALSE, TRUE)
    assert not result("or", FALSE, FALSE)
    assert result("not", FALSE)
    assert not result("not", TRUE)


def test_a_value_is_read_only_when_it_decides_something() -> None:
    def fail(ref: Ref) -> Any:
        raise AssertionError(f"{ref} was read")

    never = Expr("exists", (literal(1),))
    assert not holds(Expr("and", (FALSE, never)), fail)
    assert holds(Expr("or", (TRUE, never)), fail)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (5, 5.0),
        ("5", 5),
        ("5.0", "5"),
        ("1e3", 1000),
        (".5", 0.5),
        ("-2", -2.0),
        (2**53 + 1, str(2**53 + 1)),
        (True, "true"),
        ("a", "a"),
        ([1, 2.0], [1, 2]),
        ({"a": 1, "b": [2.0]}, {"b": [2], "a": 1}),
        ("[1,2]", [1, 2]),
        (None, None),
    ],
)
def test_equal_values_are_equal_both_ways(left: Any, right: Any) -> None:
    assert check("eq", left, right)
    assert check("eq", right, left)
    assert not check("ne", left, right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (5, 6),
        ("5", "6"),
        (True, 1),
        (False, 0),
        (True, "1"),
        (2**53, 2**53 + 1),
        ([True], [1]),
        (["5"], [5]),
        (None, "null"),
        (None, 0),
        (None, ""),
        (None, False),
        ("inf", float("1e308") * 10),
        ("nan", 0),
        ("1_000", 1000),
        (" 5", 5),
        ("\u0665", 5),
        ("9" * 5000, 9),
    ],
)
def test_different_values_are_different_both_ways(left: Any, right: Any) -> None:
    assert not check("eq", left, right)
    assert not check("eq", right, left)
    assert check("ne", left, right)


def test_numbers_and_numeric_text_are_ordered_as_numbers() -> None:
    assert check("lt", "9", 10)
    assert check("gt", "10", "9")
    assert check("ge", 10, "10.0")
    assert check("le", -1.5, "-1")
    assert not check("gt", 10**400, "1" + "0" * 400)


def test_other_values_are_ordered_as_text() -> None:
    assert check("lt", "apple", "banana")
    assert check("lt", "10", "apple")
    assert check("gt", "inf", 10)
    assert check("lt", False, True)


@pytest.mark.parametrize("op", ["gt", "lt", "ge", "le"])
def test_a_missing_value_is_neither_above_nor_below_anything(op: str) -> None:
    others: list[Any] = [0, "", "null", None, [], True]
    for other in others:
        assert not check(op, None, other)
        assert not check(op, other, None)


def test_exists_asks_only_whether_there_is_a_value() -> None:
    assert not check("exists", None)
    values: list[Any] = [0, "", False, [], {}]
    for value in values:
        assert check("exists", value)


def test_a_list_contains_what_equals_one_of_its_items() -> None:
    assert check("in", "2", [1, 2, 3])
    assert check("contains", [1, 2, 3], 2.0)
    assert not check("in", 4, [1, 2, 3])
    assert check("in", None, [None])
    assert not check("in", None, [0, ""])


def test_a_text_contains_the_texts_within_it() -> None:
    assert check("in", "ell", "hello")
    assert check("contains", "hello", "")
    assert not check("contains", "hello", "x")
    assert not check("contains", "h5", 5)


@pytest.mark.parametrize("whole", [None, 5, True, {"a": 1}])
def test_nothing_else_contains_anything(whole: Any) -> None:
    assert not check("in", "a", whole)
    assert not check("contains", whole, None)


def test_a_reference_in_the_place_of_a_condition_holds_if_it_equals_true() -> None:
    assert holds(Expr("and", (literal(True), literal("true"))), lambda ref: ref.literal)
    assert not holds(Expr("or", (literal(1), literal(None))), lambda ref: ref.literal)


def test_an_operator_no_dialect_makes_is_our_own_mistake() -> None:
    with pytest.raises(AssertionError):
        check("xor", 1, 2)


def test_refs_of_finds_every_reference_in_order() -> None:
    a, b, c = (Ref(Root.SHARED, (name,)) for name in "abc")
    expr = Expr("and", (Expr("eq", (a, b)), Expr("not", (Expr("exists", (c,)),))))
    assert list(refs_of(expr)) == [a, b, c]


MANY: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    5,
    5.0,
    "5",
    "5.0",
    "",
    "a",
    "true",
    "null",
    [],
    [1],
    [1.0],
    {},
    "[1]",
)


@pytest.mark.parametrize("part", MANY)
def test_a_list_contains_exactly_what_equals_one_of_its_items(part: Any) -> None:
    for item in MANY:
        assert check("contains", [item], part) == check("eq", item, part), (item, part)


def test_a_long_list_in_a_long_list_is_looked_for_in_no_time() -> None:
    began = time.process_time()
    assert not check("contains", [0] * 20_000, [0] * 20_000)
    assert not check("in", {"a": list(range(20_000))}, ["x"] * 20_000)
    assert time.process_time() - began < 1

"""Conditions of a choice become expressions over references."""

import pytest

from windlass.dialects.fields import Problems
from windlass.dialects.flow.conditions import parse_condition
from windlass.model.errors import DefinitionError
from windlass.model.graph import Expr, Ref, Root

A = Ref(Root.PARAMS, ("a",))


def literal(value: object) -> Ref:
    return Ref(Root.LITERAL, literal=value)


def condition(value: object) -> Expr:
    problems = Problems()
    expr = parse_condition(value, "expr", problems)
    problems.raise_if_any()
    return expr


def problems_of(value: object) -> list[str]:
    with pytest.raises(DefinitionError) as caught:
        condition(value)
    return [str(problem) for problem in caught.value.problems]


@pytest.mark.parametrize("op", ["eq", "ne", "gt", "lt", "ge", "le", "in", "contains"])
def test_a_comparison_takes_references_and_literals(op: str) -> None:
    assert condition({op: ["$params.a", "B"]}) == Expr(op, (A, literal("B")))
    assert condition({op: [["$params.a"], 3]}) == Expr(op, (literal(["$params.a"]), literal(3)))


def test_and_or_and_not_combine_conditions() -> None:
    expr = condition({"and": [{"not": {"exists": "$params.a"}}, {"or": []}]})
    assert expr == Expr("and", (Expr("not", (Expr("exists", (A,)),)), Expr("or")))


def test_a_value_in_the_place_of_a_condition_must_equal_true() -> None:
    is_true = Expr("eq", (A, literal(True)))
    assert condition({"and": ["$params.a"]}) == Expr("and", (is_true,))
    assert condition({"not": "$params.a"}) == Expr("not", (is_true,))
    assert condition("$params.a") == is_true
    assert condition({"or": [False]}) == Expr("or", (Expr("eq", (literal(False), literal(True))),))


def test_an_object_must_have_exactly_one_operator() -> None:
    [problem] = problems_of({})
    assert problem.startswith("expr: 0 operators stand here, expected one (a condition looks like")
    assert problems_of({"eq": [1, 1], "ne": [1, 2]}) == [
        'expr: 2 operators stand here, expected one (combine conditions with "and" or "or")'
    ]


def test_an_unknown_operator_is_a_problem_with_a_hint() -> None:
    [problem] = problems_of({"and": [{"exist": "$params.a"}]})
    assert problem == ('expr.and[0].exist: "exist" is not an operator (did you mean "exists"?)')


@pytest.mark.parametrize(
    "value",
    [
        {"eq": "$params.a"},
        {"and": {"eq": [1, 1]}},
        {"not": [{"eq": [1, 1]}]},
        "a == 3",
        {"eq": ["$nowhere.x", 1]},
    ],
)
def test_wrong_operands_are_problems(value: object) -> None:
    assert problems_of(value)


@pytest.mark.parametrize(
    "value", [{"eq": ["$params.a"]}, {"lt": [1, 2, 3]}, {"in": []}, {"gt": None}]
)
def test_an_operator_without_exactly_two_operands_never_holds(value: object) -> None:
    assert condition(value) == Expr("or")


def test_an_operator_with_nothing_after_it_has_no_operands() -> None:
    assert condition({"and": None}) == Expr("and")
    assert condition({"or": None}) == Expr("or")


def test_every_problem_of_a_condition_is_found_at_once() -> None:
    found = problems_of({"and": [{"eq": 1}, {"not": {"xor": []}}, {"gt": ["$x", 1]}]})
    assert [text.split(":")[0] for text in found] == [
        "expr.and[0].eq",
        "expr.and[1].not.xor",
        "expr.and[2].gt[0]",
    ]


def test_conditions_nest_only_so_deep() -> None:
    value: object = True
    for _ in range(40):
        value = {"not": value}
    [problem] = problems_of(value)
    assert "deeper than 32 operators" in problem

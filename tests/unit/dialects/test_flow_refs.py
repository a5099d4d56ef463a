"""References name parameters, shared values, the input, or themselves."""

import pytest

from windlass.dialects.fields import Problems
from windlass.dialects.flow.refs import parse_key, parse_path, parse_ref
from windlass.model.errors import DefinitionError
from windlass.model.graph import Ref, Root


def ref(text: str) -> Ref:
    problems = Problems()
    found = parse_key(text, "here", problems)
    problems.raise_if_any()
    assert found is not None
    return found


def reason(text: str) -> str:
    problems = Problems()
    assert parse_ref(text, "here", problems) is None
    with pytest.raises(DefinitionError) as caught:
        problems.raise_if_any()
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$params.a", Ref(Root.PARAMS, ("a",))),
        ("$params.a.b[0]", Ref(Root.PARAMS, ("a", "b", 0))),
        ("$params.m[0][12].x", Ref(Root.PARAMS, ("m", 0, 12, "x"))),
        ("$params", Ref(Root.PARAMS)),
        ("$params..n", Ref(Root.PARAMS, ("n",))),
        ("$shared.x.0", Ref(Root.SHARED, ("x", "0"))),
        ("$input", Ref(Root.INPUT)),
        ("$input.y", Ref(Root.INPUT, ("y",))),
        ("$input[1].y", Ref(Root.INPUT, (1, "y"))),
        ("$input[1][2]", Ref(Root.INPUT, (1, 2))),
        ("rows[0].name", Ref(Root.SHARED, ("rows", 0, "name"))),
        ("two words", Ref(Root.SHARED, ("two words",))),
        ("$$5", Ref(Root.LITERAL, literal="$5")),
    ],
)
def test_a_reference_is_a_root_and_the_steps_below_it(text: str, expected: Ref) -> None:
    assert ref(text) == expected


@pytest.mark.parametrize(
    "text", ["", "a..b", ".a", "a.", "a[", "a[x]", "a[-1]", "[0]", "a]b", "a[0]b"]
)
def test_a_path_is_keys_and_indexes_and_nothing_else(text: str) -> None:
    assert parse_path(text) is None


def test_an_unknown_root_is_a_problem_that_names_the_nearest_known_one() -> None:
    assert 'did you mean "params"?' in reason("$param.x")
    assert "refers to nothing" in reason("$foo.x")
    assert '"$$5…" for the text itself' in reason("$5")


def test_the_shared_values_are_not_a_value_themselves() -> None:
    assert "names no key" in reason("$shared")


@pytest.mark.parametrize(
    "text", ["$params[0]", "$shared[0]", "$params.a[", "$input.", "$params...n"]
)
def test_a_broken_path_below_a_root_is_a_problem(text: str) -> None:
    assert "is not a path" in reason(text)

"""Definition text, JSON or YAML, becomes the plain value it stands for."""

import pytest

from windlass.dialects.flow import Limits, read_definition
from windlass.model.errors import DefinitionError


def reason(text: str, *, yaml: bool | None = None, limits: Limits | None = None) -> str:
    with pytest.raises(DefinitionError) as caught:
        read_definition(text, yaml=yaml, limits=limits or Limits())
    [problem] = caught.value.problems
    return problem.reason


def test_json_and_yaml_of_the_same_flow_give_the_same_value() -> None:
    value = {"start": "a", "nodes": {"a": {"service": "s", "max_retries": 3, "params": {"x": 1.5}}}}
    json_text = (
        '{"start": "a", "nodes": {"a": {"service": "s", "max_retries": 3, "params": {"x": 1.5}}}}'
    )
    yaml_text = "start: a\nnodes:\n  a: {service: s, max_retries: 3, params: {x: 1.5}}\n"
    assert read_definition(json_text) == value
    assert read_definition(yaml_text) == value


def test_the_first_character_tells_json_from_yaml_unless_the_caller_does() -> None:
    assert read_definition(" \n[1]") == [1]
    assert read_definition("- 1") == [1]
    assert read_definition("{start: a}", yaml=True) == {"start": "a"}
    assert "line 1, column 2" in reason("{start: a}")
    assert "line 1, column 1" in reason("start: a", yaml=False)


def test_a_byte_order_mark_is_not_part_of_the_text() -> None:
    assert read_definition("\ufeff{}") == {}


def test_yaml_words_mean_what_they_mean_in_json() -> None:
    text = "a: no\nb: on\nc: 2024-01-01\nd: true\ne: ~\nf: 010\ng: 0x10\nh: '5'\ni: .5\nj: 1e3\nk:"
    assert read_definition(text) == {
        "a": "no",
        "b": "on",
        "c": "2024-01-01",
        "d": True,
        "e": None,
        "f": 10,
        "g": 16,
        "h": "5",
        "i": 0.5,
        "j": 1000.0,
        "k": None,
    }


def test_yaml_keys_are_always_text() -> None:
    assert read_definition("1: a\ntrue: b\nnull: c") == {"1": "a", "true": "b", "null": "c"}


def test_yaml_tags_choose_between_text_and_value() -> None:
    assert read_definition("a: !!str 5\nb: !!int 5\nc: ! 5") == {"a": "5", "b": 5, "c": "5"}
    assert "!x" in reason("a: !x 5")
    assert "!y" in reason("a: !y {b: 1}")


def test_yaml_anchors_and_merges_are_followed() -> None:
    text = """
    base: &base {service: s, wait_ms: 5}
    a: {<<: *base, wait_ms: 7}
    b: {<<: [{func: f}, *base]}
    c: *base
    """
    base = {"service": "s", "wait_ms": 5}
    assert read_definition(text) == {
        "base": base,
        "a": {"service": "s", "wait_ms": 7},
        "b": {"func": "f", **base},
        "c": base,
    }
    assert "<< takes" in reason("a: {<<: 5}")


def test_a_yaml_value_cannot_contain_itself() -> None:
    assert reason("a: &x [*x]").startswith("line 1, column 8: no finished value")


def test_aliases_cannot_unfold_a_small_text_into_a_huge_value() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    assert "more than" in reason("\n".join(lines))


def test_merges_cannot_unfold_a_small_text_into_a_huge_value() -> None:
    wide = "a: &a {" + ", ".join(f"k{n}: 1" for n in range(100)) + "}\nb:\n"
    assert "too many values" in reason(wide + "- <<: *a\n" * 100, limits=Limits(values_max=1000))


def test_a_repeated_key_is_a_problem_rather_than_a_lost_node() -> None:
    assert reason('{"nodes": {"a": 1, "a": 2}}') == 'the key "a" stands twice in one object'
    assert reason("nodes:\n  a: 1\n  a: 2").startswith('line 3, column 3: the key "a" stands twice')


def test_a_mistake_is_reported_with_its_line_and_column() -> None:
    assert reason('{\n  "start": }').startswith("line 2, column 12: ")
    assert reason("start: a\nnodes: ]").startswith("line 2, column 8: ")
    assert reason("a: 1\n---\nb: 2").startswith("line 2, column 1: a second document")
    assert reason("? [a]\n: 1").startswith("line 1, column 3: a key must be plain text")


@pytest.mark.parametrize("text", ["[NaN]", "[-Infinity]", "[1e999]", "[" + "9" * 5000 + "]"])
def test_numbers_json_cannot_carry_are_refused(text: str) -> None:
    assert "number" in reason(text)


@pytest.mark.parametrize("text", ['["\\ud800"]', '["\\u0000"]', "a: \ud800"])
def test_text_no_database_can_store_is_refused(text: str) -> None:
    assert "holds" in reason(text)


@pytest.mark.parametrize("text", ["[" * 100_000, "- " * 100_000, '{"a":' * 100_000])
def test_nesting_is_bounded_whatever_the_text(text: str) -> None:
    assert "nested deeper than 200 levels" in reason(text) or "line" in reason(text)


def test_the_limits_are_the_callers() -> None:
    assert "limit is 3" in reason("[1, 2]", limits=Limits(chars_max=3))
    assert "deeper than 2" in reason("[[[1]]]", limits=Limits(depth_max=2))
    assert "more than 3 values" in reason("[1, 2, 3, 4]", limits=Limits(values_max=3))
    assert read_definition("[1, 2, 3]", limits=Limits(values_max=3)) == [1, 2, 3]


def test_an_empty_text_is_null() -> None:
    assert read_definition("") is None

"""Measuring and searching JSON values in C gives what doing it step by step gives."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from windlass.dialects.plain import Limits, first_flaw
from windlass.kernel import expressions
from windlass.kernel.fills import MISSING, find, put
from windlass.kernel.values import walk
from windlass.model.values import DEPTH_MAX, depth_of

TEXTS = st.text('ab"\\[]{}1-.é', max_size=6)
PLAIN = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.5, 1.0, 2.5]) | TEXTS
VALUES = st.recursive(PLAIN, lambda some: st.lists(some) | st.dictionaries(TEXTS, some))
ODD = st.sampled_from(["\0", "a\0", "\ud800", float("nan"), float("inf"), b"x", (1,)])
MIXED = st.recursive(
    PLAIN | ODD,
    lambda some: st.lists(some) | st.dictionaries(TEXTS | st.just("\udfff") | st.just(7), some),
)


def depth(value: Any) -> int:
    if not isinstance(value, list | dict):
        return 0
    parts = value if isinstance(value, list) else value.values()
    return 1 + max(map(depth, parts), default=0)


@given(VALUES, st.integers(0, DEPTH_MAX + 20), st.booleans())
def test_a_text_is_as_deep_as_its_value(value: Any, levels: int, ascii_: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_).encode()
    wide = b"[" + b"[]," * (DEPTH_MAX + 1) + b"[" * levels + text + b"]" * levels + b"]"
    wanted = max(2, 1 + levels + depth(value))
    assert depth_of(wide) == min(wanted, DEPTH_MAX + 1)


def test_brackets_in_texts_are_no_depth() -> None:
    for inside in ('"' + "[" * 500, "\\" + "{" * 500, "]" * 500 + '\\"' + "[" * 500):
        assert depth_of(json.dumps([[inside]]).encode()) == 2


@given(st.lists(PLAIN), PLAIN | VALUES)
def test_a_list_contains_what_equals_one_of_its_items(whole: list[Any], part: Any) -> None:
    # The operators themselves, without what reads their operands.
    one_by_one = any(expressions._equal(item, part) for item in whole)
    assert expressions._contains(whole, part) is one_by_one


DIGITS = st.text("0123456789\u0663\u00b2", min_size=1, max_size=3)
STEPS = DIGITS | st.integers(1, 6_000).map("9".__mul__) | st.integers(0, 3) | TEXTS


@given(VALUES, st.lists(STEPS, max_size=4))
def test_whatever_a_path_names_it_leads_somewhere_or_nowhere(value: Any, path: list[Any]) -> None:
    found = find(value, path)
    assert walk(value, path) == (None if found is MISSING else found)
    put(value, path, 1)


def is_plain(value: Any, levels: int) -> bool:
    """What the definition of a flow may be made of, said once more."""
    if isinstance(value, dict):
        keys, items = list(value), list(value.values())
        return (
            levels > 0 and all(isinstance(k, str) for k in keys) and all_plain(keys + items, levels)
        )
    if isinstance(value, list):
        return levels > 0 and all_plain(value, levels)
    if isinstance(value, str):
        return "\0" not in value and value.encode(errors="replace").decode() == value
    return value is None or (isinstance(value, int | float) and abs(value) < float("inf"))


def all_plain(values: list[Any], levels: int) -> bool:
    return all(is_plain(value, levels - 1) for value in values)


def count(value: Any) -> int:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return len(parts) + sum(map(count, parts))


@given(MIXED, st.integers(1, 6), st.integers(0, 30))
def test_a_flaw_is_found_just_where_there_is_one(value: Any, levels: int, values_max: int) -> None:
    flaw = first_flaw(value, Limits(depth_max=levels, values_max=values_max))
    assert (flaw is None) == (is_plain(value, levels) and count(value) <= values_max)

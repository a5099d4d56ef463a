"""Measuring and searching JSON values in C gives what doing it step by step gives."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from windlass.kernel import expressions
from windlass.model.values import DEPTH_MAX, depth_of

TEXTS = st.text('ab"\\[]{}1-.é', max_size=6)
PLAIN = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.5, 1.0, 2.5]) | TEXTS
VALUES = st.recursive(PLAIN, lambda some: st.lists(some) | st.dictionaries(TEXTS, some))


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

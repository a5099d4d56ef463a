"""Conditions: whether an expression holds for the values its references read.

How two values compare:

- A missing value (null) equals only another missing one, and is neither above nor below anything.
- Numbers, and text that reads as a decimal number, compare as numbers: `"5"` equals `5.0`. Whole
  numbers compare exactly, however large. `"inf"` and `"nan"` are text.
- Booleans are not numbers. Like everything else they compare as text: text as it is, a number in
  its shortest form, the rest as compact JSON with sorted keys; so `true` equals `"true"`, and
  `[1, 2.0]` equals `[1, 2]`.

A list contains what equals one of its items, a text contains the texts within it; nothing else
contains anything.
"""

import json
import math
import re
from collections.abc import Callable, Iterator
from typing import Any, TypeGuard

from windlass.model.graph import Expr, Ref

_WHOLE = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_BEGINNINGS = frozenset("+-.0123456789")
"""What a text begins with that reads as a number."""
_NUMBERS = frozenset({int, float})
_DIGITS_MAX = 400
"""Beyond any number a double holds; Python refuses to read integers from some length on."""


def holds(expr: Expr, read: Callable[[Ref], Any]) -> bool:
    """Whether a condition is true, reading each value only when it is needed."""
    match expr.op:
        case "and":
            return all(_true(part, read) for part in expr.args)
        case "or":
            return any(_true(part, read) for part in expr.args)
        case "not":
            return not _true(expr.args[0], read)
        case "exists":
            return _value(expr.args[0], read) is not None
        case op:
            left, right = (_value(part, read) for part in expr.args)
            return _compare(op, left, right)


def refs_of(expr: Expr) -> Iterator[Ref]:
    """Every reference an expression may read, so that a caller can load them beforehand."""
    for part in expr.args:
        if isinstance(part, Ref):
            yield part
        else:
            yield from refs_of(part)


def _true(part: Expr | Ref, read: Callable[[Ref], Any]) -> bool:
    return holds(part, read) if isinstance(part, Expr) else _equal(read(part), True)


def _value(part: Expr | Ref, read: Callable[[Ref], Any]) -> Any:
    return holds(part, read) if isinstance(part, Expr) else read(part)


def _compare(op: str, left: Any, right: Any) -> bool:
    match op:
        case "eq":
            return _equal(left, right)
        case "ne":
            return not _equal(left, right)
        case "gt":
            return _below(right, left)
        case "lt":
            return _below(left, right)
        case "ge":
            return _below(right, left) or _equal_present(left, right)
        case "le":
            return _below(left, right) or _equal_present(left, right)
        case "in":
            return _contains(right, left)
        case "contains":
            return _contains(left, right)
        case _:
            raise AssertionError(f"no dialect lowers to the operator {op!r}")


def _equal(left: Any, right: Any) -> bool:
    if left is None or right is None:
        return left is right
    numbers = _number(left), _number(right)
    if None not in numbers:
        return numbers[0] == numbers[1]
    return _text(left) == _text(right)


def _equal_present(left: Any, right: Any) -> bool:
    return left is not None and _equal(left, right)


def _below(left: Any, right: Any) -> bool:
    if left is None or right is None:
        return False
    low, high = _number(left), _number(right)
    if low is not None and high is not None:
        return low < high
    return _text(left) < _text(right)


def _contains(whole: Any, part: Any) -> bool:
    if isinstance(whole, str):
        return isinstance(part, str) and part in whole
    if not _is_list(whole):
        return False
    kinds = set(map(type, whole))
    if kinds <= _NUMBERS and (number := _number(part)) is not None:
        return number in whole  # as below, without a step for each item
    if kinds == {str} and part is not None and _number(part) is None:
        return _text(part) in whole
    return any(map(_equal_to(part), whole))


def _equal_to(part: Any) -> Callable[[object], bool]:
    """`_equal` to a part that is read once, and not once for each item of a list: a part may be as
    long as the list."""
    if part is None:
        return lambda item: item is None
    number, text = _number(part), _text(part)

    def equal(item: object) -> bool:
        kind = type(item)
        if number is None:
            if kind is str:
                return bool(item == text)
        elif kind is int or kind is float:
            return bool(item == number)
        if item is None:
            return False
        other = _number(item)
        if number is not None and other is not None:
            return number == other
        return _text(item) == text

    return equal


def _number(value: Any) -> int | float | None:
    """The number a value is or reads as, if it does."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return value
    if not isinstance(value, str) or value[:1] not in _BEGINNINGS or len(value) > _DIGITS_MAX:
        return None
    if _WHOLE.fullmatch(value):
        return int(value)
    number = float(value) if _DECIMAL.fullmatch(value) else math.inf
    return number if math.isfinite(number) else None


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(_plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _plain(value: Any) -> Any:
    """The value with 2.0 written as 2, since JSON has one kind of number."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if _is_list(value):
        return [_plain(item) for item in value]
    if _is_object(value):
        return {key: _plain(item) for key, item in value.items()}
    return value


def _is_list(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def _is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)

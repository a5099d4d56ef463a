"""JSON values as types: telling objects and lists apart from the rest, and how deep they go."""

import re
from typing import Any, TypeGuard

DEPTH_MAX = 200
"""JSON nested more deeply is refused where it enters: reading parts of it later could fail."""

_BRACKET = re.compile(rb'"(?:[^"\\]|\\.)*+"|[\[{]|[\]}]')


def is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def is_list(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def depth_of(text: bytes) -> int:
    """How deeply a JSON text is nested; only an upper bound while that is harmless."""
    count = text.count(b"[") + text.count(b"{")
    if count <= DEPTH_MAX:
        return count
    depth = deepest = 0
    for match in _BRACKET.finditer(text):
        mark = match.group()
        if mark in (b"[", b"{"):
            depth += 1
            deepest = max(deepest, depth)
            if deepest > DEPTH_MAX:
                break
        elif mark in (b"]", b"}"):
            depth -= 1
    return deepest

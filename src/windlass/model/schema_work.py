"""What it would cost to tell why a value does not meet a JSON Schema.

Judging a value is quick whatever its schema. Telling every reason is not: each alternative is told
for each part of the value, and references unfold. Small schemas that refer to each other come to
millions of reasons that way, which fill the memory before anybody can look at them.
"""

from collections.abc import Iterator
from typing import Any

from windlass.model.values import is_list, is_object, size_of

REASONS_MAX = 300_000
TOO_MANY = "it does not meet its schema, in too many ways to tell"

_SAME_PLACE = frozenset({"allOf", "anyOf", "oneOf", "not", "if", "then", "else"})
_MAPS = frozenset({"properties", "patternProperties", "dependentSchemas"})
_NO_SCHEMAS = frozenset({"$defs", "definitions", "default", "examples"})


def explainable(schema: Any, value: Any) -> bool:
    """Whether the reasons why a value does not meet a schema are few enough to be told."""
    most = REASONS_MAX // max(1, size_of(value))
    pending = [(schema, _depth_of(value))]
    for _ in range(most):
        if not pending:
            return True
        part, levels = pending.pop()
        for inner, lower in _parts(schema, part):
            if lower > levels:
                continue  # There is nothing in the value that it would be held against.
            pending.append((inner, levels - lower))
    return not pending


def _parts(root: Any, schema: Any) -> Iterator[tuple[Any, int]]:
    """The schemas in a schema, and how many levels further inside of the value each is for."""
    if not is_object(schema):
        return
    for key, given in schema.items():
        if key in _NO_SCHEMAS:
            continue
        lower = 0 if key in _SAME_PLACE or key == "dependentSchemas" else 1
        if key in ("enum", "const"):
            # Each reason lists what would have been right.
            yield from ((None, 0) for _ in range(size_of(given)))
        elif key == "$ref":
            # What cannot be looked up here is taken for the whole, which is never less.
            yield _at(root, given), 0
        elif key in _MAPS and is_object(given):
            yield from ((inner, lower) for inner in given.values())
        elif is_list(given):
            yield from ((inner, lower) for inner in given if is_object(inner))
        elif is_object(given):
            yield given, lower


def _at(root: Any, pointer: object) -> Any:
    found = root
    steps = pointer.split("/")[1:] if isinstance(pointer, str) and pointer[:2] == "#/" else []
    for step in steps:
        name = step.replace("~1", "/").replace("~0", "~")
        if not is_object(found) or name not in found:
            return root
        found = found[name]
    return found


def _depth_of(value: Any) -> int:
    depth, level = 0, [value]
    while level:
        inner: list[Any] = []
        for part in level:
            if is_object(part):
                inner += part.values()
            elif is_list(part):
                inner += part
        depth, level = depth + 1, inner
    return depth

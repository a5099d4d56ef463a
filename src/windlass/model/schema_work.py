"""What it would cost to judge a value by a JSON Schema, and to tell why it does not meet it.

Each alternative is tried, and told, for each part of the value, and references unfold. Small
schemas that refer to each other come to millions of reasons that way, which fill the memory before
anybody can look at them; somewhat larger ones take minutes even to say no.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from windlass.model.values import is_list, is_object, size_of

REASONS_MAX = 300_000
TOO_MANY = "it does not meet its schema, in too many ways to tell"

STEPS_MAX = 20_000_000
TOO_LONG = "to hold it against its schema would take too long"

_SAME_PLACE = frozenset({"allOf", "anyOf", "oneOf", "not", "if", "then", "else"})
_MAPS = frozenset({"properties", "patternProperties", "dependentSchemas"})
_NO_SCHEMAS = frozenset({"$defs", "definitions", "default", "examples"})
_REFERENCES = frozenset({"$ref", "$dynamicRef", "$recursiveRef"})


def is_easy(schema: str, chars: int) -> bool:
    """Whether a schema can be held against any value that is so long as JSON: nothing refers to
    anything, and all of the one held against all of the other would be done in a moment."""
    # Whatever is compared with something else has two characters or more, as has that.
    return 'ef"' not in schema and len(schema) * chars < 4 * STEPS_MAX


def judgeable(schema: Any, value: Any) -> bool:
    """Whether a value can be held against a schema in a moment; about how many steps it takes."""
    sizes = _sizes_of(value)
    shares = [below / here for here, below in pairwise([*sizes, 0])]
    known: dict[tuple[int, int], float] = {}
    around: set[int] = set()

    def steps(part: Any, level: int) -> float:
        """Those for one part of the value, so deep inside of it."""
        at = (id(part), level)
        if at in known:
            return known[at]
        if id(part) in around:
            return 1  # Schemas of trees are tried once for each place, however they branch.
        around.add(id(part))
        here, below, one_of = 1.0, 0.0, 0.0
        for inner, lower in _parts(schema, part):
            if not lower:
                here += steps(inner, level)
            elif level + 1 < len(sizes):
                below += steps(inner, level + 1)
        for inner in _properties(part) if level + 1 < len(sizes) else ():
            one_of = max(one_of, steps(inner, level + 1))
            below -= steps(inner, level + 1)  # A field is held against its own schema alone.
        around.discard(id(part))
        known[at] = min(here + shares[level] * (below + one_of), 2.0 * STEPS_MAX)
        return known[at]

    try:
        return steps(schema, 0) <= STEPS_MAX
    except RecursionError:
        return False


def _properties(schema: Any) -> list[Any]:
    named = schema.get("properties") if is_object(schema) else None
    return list(named.values()) if is_object(named) else []


def explainable(schema: Any, value: Any) -> bool:
    """Whether the reasons why a value does not meet a schema are few enough to be told."""
    most = REASONS_MAX // max(1, size_of(value))
    pending = [(schema, len(_sizes_of(value)))]
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
        elif key in _REFERENCES:
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


def _sizes_of(value: Any) -> list[int]:
    """How many values there are at each level of a value, from the outermost, which is one."""
    sizes: list[int] = []
    level = [value]
    while level:
        sizes.append(len(level))
        inner: list[Any] = []
        for part in level:
            if is_object(part):
                inner += part.values()
            elif is_list(part):
                inner += part
        level = inner
    return sizes

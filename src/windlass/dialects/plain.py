"""Bounds on a definition, and the check that it is plain JSON within them.

Everything after this check may recurse, encode and store without a thought of hostile input: keys
are strings, text is valid Unicode, numbers are finite, and neither depth nor size is unbounded.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeGuard, cast

from windlass.model.errors import Problem


@dataclass(frozen=True, slots=True)
class Limits:
    """How large a definition may be; the defaults leave room for generated flows."""

    chars_max: int = 4 * 1024 * 1024
    depth_max: int = 200
    """Levels of lists and objects; a subflow costs three of them."""
    values_max: int = 200_000
    """Values after YAML aliases are followed, so a small text cannot unfold into a huge graph."""
    nodes_max: int = 10_000
    """Nodes of the graph, with those of subflows and branches."""
    levels_max: int = 32
    """Subflows inside subflows."""


DEFAULT_LIMITS = Limits()

Trail = tuple["Trail", str | int] | None
"""How a value was reached, as a linked list: rendered only if there is something to say of it."""


def is_object(value: object) -> TypeGuard[dict[str, object]]:
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[object]]:
    return isinstance(value, list)


def under(where: str, step: str | int) -> str:
    """The problem path one step below `where`: `nodes.fetch`, `edges[2]`, `nodes["a b"]`."""
    if isinstance(step, int):
        return f"{where}[{step}]"
    shown = step if len(step) <= 60 else step[:59] + "…"
    if not shown.replace("-", "_").isidentifier() and not shown.isalnum():
        return f'{where}["{shown}"]'
    return f"{where}.{shown}" if where else shown


def first_flaw(definition: object, limits: Limits) -> Problem | None:
    """What keeps a value from being a plain, bounded JSON value, if anything does."""
    return None if _flawless(definition, limits) else _flaw_in(definition, limits)


def _flawless(definition: object, limits: Limits) -> bool:
    """Whether there is nothing to find, level by level: the way to a value, which costs most of the
    time, is needed only where something is wrong with it."""
    left = limits.values_max
    level: list[object] = [definition]
    depth = 0
    while level:
        inside: list[object] = []
        texts: list[str] = []
        for value in level:
            kind = type(value)
            if kind is str:
                texts.append(cast(str, value))
            elif kind is dict or kind is list:
                left -= len(cast("list[object]", value))
                if left < 0 or depth >= limits.depth_max:
                    return False
                if kind is dict:
                    texts.extend(cast("dict[str, object]", value))
                    inside.extend(cast("dict[str, object]", value).values())
                else:
                    inside.extend(cast("list[object]", value))
            elif kind is float:
                if not math.isfinite(cast(float, value)):
                    return False
            elif kind is not int and kind is not bool and value is not None:
                return False
        try:
            if b"\0" in "".join(texts).encode():
                return False
        except (TypeError, UnicodeEncodeError):  # a key that is no text, or half a surrogate
            return False
        level, depth = inside, depth + 1
    return True


def _flaw_in(definition: object, limits: Limits) -> Problem | None:
    left = limits.values_max
    stack: list[tuple[object, int, Trail]] = [(definition, 0, None)]
    while stack:
        value, depth, trail = stack.pop()
        flaw = _flaw_of(value, depth, limits)
        if flaw:
            return Problem(_render(trail), flaw)
        inside: Iterable[tuple[str | int, object]] = ()
        if is_object(value):
            left -= len(value)
            inside = value.items()
        elif is_list(value):
            left -= len(value)
            inside = enumerate(value)
        if left < 0:  # counted before they are queued: aliases make few bytes into many values
            reason = f"holds more than {limits.values_max} values"
            return Problem("definition", reason, "split it into several flows")
        stack.extend((item, depth + 1, (trail, step)) for step, item in inside)
    return None


def _flaw_of(value: object, depth: int, limits: Limits) -> str:
    if is_object(value) or is_list(value):
        if depth >= limits.depth_max:
            return f"nested deeper than {limits.depth_max} levels"
        keys = list(value) if is_object(value) else []
        return next((flaw for flaw in map(_key_flaw, keys) if flaw), "")
    return _scalar_flaw(value)


def _key_flaw(key: object) -> str:
    if not isinstance(key, str):
        return f"has a key that is not a string: {key!r:.60}"
    return _text_flaw(key)


def _scalar_flaw(value: object) -> str:
    match value:
        case None | bool() | int():
            return ""
        case float():
            return "" if math.isfinite(value) else f"{value} is not a number JSON can carry"
        case str():
            return _text_flaw(value)
        case _:
            return f"is a {type(value).__name__}, which JSON cannot carry"


def _text_flaw(text: str) -> str:
    if "\0" in text:
        return "holds a NUL character, which databases cannot store in text"
    try:
        text.encode()
    except UnicodeEncodeError:
        return "holds half of a surrogate pair, which is not valid Unicode"
    return ""


def _render(trail: Trail) -> str:
    steps: list[str | int] = []
    while trail is not None:
        trail, step = trail
        steps.append(step)
    where = ""
    for step in reversed(steps):
        where = under(where, step)
    return where or "definition"

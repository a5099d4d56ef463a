"""What a resource's config may hold, field by field: every problem is told, with its field."""

import math
from collections.abc import Callable, Mapping
from typing import Any, cast

Check = Callable[[object], str]
"""What a value should have been; nothing if it is right."""

_WORDS_MAX = 256
_TEXT_MAX = 8_192


def problems(config: Mapping[str, Any], fields: Mapping[str, Check], *needed: str) -> list[str]:
    """All that is wrong with a config, each naming the field and the next move."""
    found = [
        f'config "{name}" is missing: give {fields[name](None)}'
        for name in needed
        if name not in config
    ]
    for name, value in config.items():
        check = fields.get(name)
        if check is None:
            found.append(
                f'config "{name}" is unknown: leave it out; known are {", ".join(sorted(fields))}'
            )
        elif wanted := check(value):
            found.append(f'config "{name}" is {_shown(value)}: give {wanted}')
    return found


def text(wanted: str = "a text", accepts: Callable[[str], object] = bool) -> Check:
    """A text that some test accepts; any but the empty one if none is given."""

    def check(value: object) -> str:
        good = isinstance(value, str) and len(value) <= _TEXT_MAX and "\0" not in value
        return "" if good and accepts(cast(str, value)) else wanted

    return check


def number(low: float, high: float) -> Check:
    def check(value: object) -> str:
        good = isinstance(value, int | float) and not isinstance(value, bool)
        if good and math.isfinite(cast(float, value)) and low <= cast(float, value) <= high:
            return ""
        return f"a number from {low:g} to {high:g}"

    return check


def whole(low: int, high: int) -> Check:
    def check(value: object) -> str:
        good = isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
        return "" if good else f"a whole number from {low} to {high}"

    return check


def flag(value: object) -> str:
    return "" if isinstance(value, bool) else "true or false"


def one_of(*choices: str) -> Check:
    return lambda value: "" if value in choices else f"one of {', '.join(choices)}"


def words(value: object) -> str:
    """A list of texts, as commands are."""
    wanted = f"a list of at most {_WORDS_MAX} texts"
    if not isinstance(value, list) or len(cast(list[object], value)) > _WORDS_MAX:
        return wanted
    each = text("", lambda _: True)
    unfit = any(not isinstance(word, str) or each(word) for word in cast(list[object], value))
    return wanted if unfit else ""


def table(of: Check, wanted: str, key: Callable[[str], object] = bool) -> Check:
    """A table from texts to something."""

    def check(value: object) -> str:
        if not isinstance(value, dict) or len(cast(dict[object, object], value)) > _WORDS_MAX:
            return wanted
        for name, item in cast(dict[object, object], value).items():
            if not isinstance(name, str) or text()(name) or not key(name) or of(item):
                return wanted
        return ""

    return check


def _shown(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 80 else f"{shown[:80]}…"

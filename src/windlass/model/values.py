"""JSON values as types: telling objects and lists apart, and what of them anybody can read.

JSON text is carried unparsed, so a value that cannot be read would go unnoticed until somebody far
away needs a part of it, and then again each time. `readable` is the door it has to pass first.
"""

import math
from collections.abc import Callable
from typing import Any, TypeGuard

import msgspec

from windlass.model.errors import BadRequest

DEPTH_MAX = 200
"""JSON nested more deeply is refused where it enters: reading parts of it later could fail."""

_NO_MARKS = bytes(set(range(256)) - set(b'"[]{}'))
_ALIKE = bytes.maketrans(b"{}", b"[]")


def is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def is_list(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def is_template(value: Any) -> bool:
    """Whether a value is text for a handler to fill in, as `{{nodes.fetch.rows}}`."""
    return isinstance(value, str) and "{{" in value and "}}" in value


_JUDGES = frozenset({"anyOf", "oneOf", "not", "if", "then", "else", "contains"})
"""Keywords of a schema whose error is of a whole value, though a part deep inside may be why."""


def excused(part: Any, keyword: str, tolerated: Callable[[Any], bool]) -> bool:
    """Whether nobody need mind that a keyword of a schema refuses a part of a value."""
    if tolerated(part):
        return True
    pending = [part] if keyword in _JUDGES else []
    while pending:
        inner = pending.pop()
        if tolerated(inner):
            return True
        if is_object(inner):
            pending += inner.values()
        elif is_list(inner):
            pending += inner
    return False


def check_text(what: str, text: str) -> None:
    """Refuse a text that not every database can keep, where one is to be kept as it is."""
    if "\0" in text:
        raise BadRequest(f"{what} holds a NUL character, which databases cannot store in text")


def storable(text: str) -> str:
    """A text that every database can keep: without NUL, and without the halves of characters that
    Python makes of bytes that are none."""
    text = text.replace("\0", "\ufffd")
    return text if text.isascii() else text.encode(errors="replace").decode()


def depth_of(text: bytes) -> int:
    """How deeply a JSON text is nested; only an upper bound while that is harmless."""
    count = text.count(b"[") + text.count(b"{")
    if count <= DEPTH_MAX:
        return count
    brackets = _brackets(text)
    # Each round takes away what has nothing inside: as many rounds as levels, each of them in C
    # and short, since what is measured may be megabytes while everybody else wants the processor.
    for depth in range(DEPTH_MAX + 1):
        left = brackets.replace(b"[]", b"")
        if len(left) == len(brackets):
            return depth + left.count(b"[")
        brackets = left
    return DEPTH_MAX + 1


def _brackets(text: bytes) -> bytes:
    """The brackets of a JSON text outside of its strings, all of one kind."""
    if b"\\" in text:
        text = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    marks = text.translate(_ALIKE, _NO_MARKS)
    # Most strings are without brackets. What is left of the others is between their quotes.
    marks = marks.replace(b'""', b"")
    return b"".join(marks.split(b'"')[::2]) if b'"' in marks else marks


def readable(text: bytes | str | msgspec.Raw, what: str) -> str:
    """JSON text that everybody can read, or `BadRequest` that says what is wrong with it.

    Beyond the grammar: UTF-8, whole characters, numbers within the range of a double or with few
    enough digits, and no deeper than `DEPTH_MAX`.
    """
    try:
        # What a text with half a character in it cannot be turned into.
        data = text.encode() if isinstance(text, str) else bytes(text)
        if depth_of(data) > DEPTH_MAX:
            raise BadRequest(f"{what} is nested more than {DEPTH_MAX} levels deep")
        msgspec.json.decode(data)
        return text if isinstance(text, str) else data.decode()
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise BadRequest(f"{what} is not JSON that can be read: {error}") from error


def readable_object(text: bytes | str | msgspec.Raw, what: str) -> str:
    """The same for text that must be a JSON object."""
    found = readable(text, what)
    if not found.lstrip().startswith("{"):
        raise BadRequest(f"{what} must be a JSON object")
    return found


def encoded(value: object, plain: Callable[[Any], Any]) -> bytes:
    """A value as JSON, with what `plain` makes of objects that have none; `ValueError` for NaN and
    the infinities, which would become null without a word."""
    text = msgspec.json.encode(value, enc_hook=plain)
    if b"null" in text:  # else there is no need to look
        _refuse_what_is_no_number(
            msgspec.to_builtins(
                value, enc_hook=lambda part: None if isinstance(part, msgspec.Raw) else plain(part)
            )
        )
    return text


def _refuse_what_is_no_number(value: Any) -> None:
    pending = [value]
    while pending:
        part = pending.pop()
        if isinstance(part, float):
            if not math.isfinite(part):
                raise ValueError(f"{part} is no number in JSON; send None or a text")
        elif isinstance(part, list | tuple):
            pending += part
        elif is_object(part):
            pending += part.values()


def size_of(value: Any) -> int:
    """How many plain values there are in a value; long texts count as several."""
    size = 0
    pending = [value]
    while pending:
        part = pending.pop()
        if isinstance(part, str):
            size += len(part) >> 6
        elif is_list(part):
            pending += part
        elif is_object(part):
            pending += part.values()
        size += 1
    return size

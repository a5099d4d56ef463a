"""Answers as people and programs want them: tables on a terminal, TSV in a pipe, or JSON."""

import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from windlass.cli.printing import print_json, print_line
from windlass.cli.tables import Column, draw
from windlass.cli.texts import ago, state_text

_NOTHING: Mapping[str, object] = {}


def is_terminal() -> bool:
    return sys.stdout.isatty()


def show_json(value: object) -> None:
    """JSON: indented for eyes, on one line for pipes."""
    encoded = msgspec.json.encode(value)
    if is_terminal():
        encoded = msgspec.json.format(encoded, indent=2)
    print_json(encoded.decode())


def show_rows(
    items: Sequence[object],
    columns: Sequence[Column],
    fields: Sequence[str],
    *,
    as_json: bool,
    wide: bool = False,
    empty: str = "",
) -> None:
    """A list of things: `columns` for people, `fields` for programs.

    `empty` is the next step when there are none.
    """
    if as_json:
        show_json(items)
    elif not items:
        if empty:
            print_line(empty, err=True)
    elif is_terminal():
        draw(items, columns, wide=wide)
    else:
        for item in items:
            print_line("\t".join(plain(field, getattr(item, field)) for field in fields))


def say_more(next_page: str | int | None, limit: int) -> None:
    """Say that a list was cut, rather than let it look whole."""
    if next_page is not None:
        print_line(f"there are more; raise --limit above {limit} or narrow the list", err=True)


def show_fields(
    item: object, fields: Sequence[str], *, as_json: bool, people: Mapping[str, object] = _NOTHING
) -> None:
    """One thing, a line for each field that says something; `people` read some otherwise."""
    if as_json:
        show_json(item)
        return
    width = max(len(field) for field in fields)
    for field in fields:
        value = getattr(item, field)
        if value not in (None, "", {}, [], 0):
            words = people.get(field, value)
            shown = human(field, words) if is_terminal() else plain(field, value)
            print_line(f"{field.ljust(width)}  {shown}" if is_terminal() else f"{field}\t{shown}")


def human(field: str, value: Any) -> str:
    """A field's value as a person reads it."""
    if field == "state":
        return state_text(str(value))
    if field.endswith("_at") and isinstance(value, int):
        at = datetime.fromtimestamp(value / 1000).astimezone()
        return f"{at:%Y-%m-%d %H:%M:%S}  ({ago(value)})"
    return plain(field, value)


def plain(field: str, value: Any) -> str:
    """A field's value on one line, as a program reads it."""
    match value:
        case None:
            return ""
        case int() if field.endswith("_at"):
            return datetime.fromtimestamp(value / 1000, UTC).isoformat(timespec="milliseconds")
        case str() | int() | float():
            text = str(value)
        case [*items] if all(isinstance(item, str) for item in items):
            text = ",".join(items)
        case msgspec.Struct() if hasattr(value, "message"):
            text = str(getattr(value, "message"))  # noqa: B009  a failure, by its words
        case _:
            text = msgspec.json.encode(value).decode()
    return text.replace("\t", " ").replace("\n", " ")

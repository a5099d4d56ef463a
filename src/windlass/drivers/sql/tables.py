"""Tables as the row types describe them: column names, their kinds, and tuples in and out."""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from functools import cache
from typing import Any, TypeGuard, TypeVar, get_args

import msgspec

from windlass.model.rows import Row

R = TypeVar("R", bound=Row)


@cache
def columns(table: type[Row]) -> tuple[str, ...]:
    return table.__struct_fields__


@cache
def changing(table: type[Row]) -> tuple[str, ...]:
    """Columns an update writes: neither the key nor what is written once."""
    return tuple(c for c in columns(table) if c not in table.KEY and c not in table.FIXED)


@cache
def is_number(table: type[Row], column: str) -> bool:
    """Whether a column is a bigint; all others are text."""
    field = next(f for f in msgspec.structs.fields(table) if f.name == column)
    return field.type is int or int in get_args(field.type)


@cache
def enums(table: type[Row]) -> tuple[int, ...]:
    """Where a row's tuple has states."""
    fields = msgspec.structs.fields(table)
    return tuple(
        i for i, f in enumerate(fields) if isinstance(f.type, type) and issubclass(f.type, StrEnum)
    )


def to_tuple(row: Row) -> tuple[Any, ...]:
    """A row's values in column order, states as plain text, which drivers bind fastest."""
    places = enums(type(row))
    values = msgspec.structs.astuple(row)
    if not places:
        return values
    plain = list(values)
    for place in places:
        plain[place] = str(plain[place])
    return tuple(plain)


def from_tuples(table: type[R], tuples: Iterable[Sequence[Any]]) -> list[R]:
    return [msgspec.convert(tuple(values), table) for values in tuples]


def key_tuple(key: Any) -> tuple[Any, ...]:
    """A primary key as a tuple, whether it has one column or several."""
    return key if _is_several(key) else (key,)


def _is_several(key: Any) -> TypeGuard[tuple[Any, ...]]:
    return isinstance(key, tuple)


@cache
def places(table: type[Row], names: tuple[str, ...]) -> tuple[int, ...]:
    """Where columns stand in a row's tuple."""
    order = {name: place for place, name in enumerate(columns(table))}
    return tuple(order[name] for name in names)


def below(scope: str) -> dict[str, str]:
    """The key range of everything inside a scope: `~` separates, and \\x7f is the next byte."""
    return {"low": f"{scope}~", "high": f"{scope}\x7f"}

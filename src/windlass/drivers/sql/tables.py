"""Tables as the row types describe them: column names, their kinds, and tuples in and out."""

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from functools import cache, lru_cache
from operator import itemgetter, ne
from typing import Any, TypeGuard, TypeVar, get_args

import msgspec
from msgspec.structs import astuple

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
def _enums(table: type[Row]) -> tuple[int, ...]:
    """Where a row's tuple has states."""
    fields = msgspec.structs.fields(table)
    return tuple(
        i for i, f in enumerate(fields) if isinstance(f.type, type) and issubclass(f.type, StrEnum)
    )


def to_tuple(row: Row) -> tuple[Any, ...]:
    """A row's values in column order, states as plain text, which drivers bind fastest."""
    places = _enums(type(row))
    values = msgspec.structs.astuple(row)
    if not places:
        return values
    plain = list(values)
    for place in places:
        plain[place] = str(plain[place])
    return tuple(plain)


class Differing:
    """The columns an update writes. There is one for each set of them, so it goes by identity."""

    def __init__(self, table: type[Row], names: tuple[str, ...]) -> None:
        self.table = table
        self.names = names
        # Two at the least, a name and a key: an itemgetter of one would give no tuple.
        first, second, *rest = places(table, (*names, *table.KEY))
        self.take: Callable[[tuple[Any, ...]], tuple[Any, ...]] = itemgetter(first, second, *rest)
        """Takes their values, and then those of the key, out of a row's tuple."""


def differing(table: type[Row], before: Row | None, row: Row) -> Differing:
    """What an update has to write: the columns that differ from what the row was."""
    if before is None:
        return _differing(table, None)
    return _differing(table, bytes(map(ne, astuple(before), astuple(row))))


@lru_cache(4096)
def _differing(table: type[Row], differ: bytes | None) -> Differing:
    """One byte for each column; few of the many sets there might be ever come up."""
    names = changing(table)
    if differ is not None:
        here = places(table, names)
        some = tuple(name for name, at in zip(names, here, strict=True) if differ[at])
        names = some or names[:1]
    return Differing(table, names)


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

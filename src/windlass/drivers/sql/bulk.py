"""A whole save as one PostgreSQL statement over arrays of rows.

A table is a type too: one parameter per table carries all its rows. Twenty parallel arrays, one
per column, take ten times as long to start for the single row of an idle system.

A save of a few rows, as an idle system makes it, is plainer: a parameter for each value, and of a
row that changes only what differs. For many rows there would be too many such statements.

What a statement says depends only on its steps, and the same few sets of steps come up again and
again: its text is made once for each.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from operator import itemgetter
from typing import Any

from msgspec.structs import astuple

from windlass.drivers.sql.statements import on_conflict
from windlass.drivers.sql.tables import (
    Differing,
    changing,
    columns,
    differing,
    is_number,
    key_tuple,
    places,
)
from windlass.model.rows import Row, Run
from windlass.ports.store import Writes

Mark = Callable[[str], str]
"""Makes the mark of the next parameter, told its type."""
Step = tuple[Callable[[type[Row], Any, Mark], str], type[Row], Any]
"""What writes a step's text; its table; and what else the text depends on."""
_FEW = 4
"""So many new rows of a table are written out; more are an array."""


class Saving:
    """The steps of a save, and the parameters of each in the order in which its text has them."""

    def __init__(self, writes: Writes) -> None:
        self._values: list[Any] = []
        self._steps: list[Step] = []
        few = _is_small(writes)
        for table, keys in writes.removed.items():
            if keys:
                self._steps.append((_delete, table, None))
                self._values += map(list, zip(*map(key_tuple, keys), strict=True))
        for table, rows in writes.changed.items():
            if rows and few:
                self._update_one(table, rows, writes)
            elif rows:
                self._steps.append((_update, table, None))
                self._values.append(_changed(table, rows, writes.was.get(table, {})))
                if table is Run:
                    self._values.append([writes.seqs[key] for key in rows])
                self._values.append(len(rows))
        for table, rows in writes.made.items():
            if rows and few:
                self._steps.append((_insert_few, table, len(rows)))
                for row in rows.values():
                    self._values += astuple(row)
            elif rows:
                self._steps.append((_insert, table, None))
                self._values.append([astuple(row) for row in rows.values()])

    def _update_one(self, table: type[Row], rows: Mapping[Any, Row], writes: Writes) -> None:
        [(key, row)] = rows.items()
        change = differing(table, writes.was.get(table, {}).get(key), row)
        self._steps.append((_update_row, table, change))
        self._values += change.take(astuple(row))
        if table is Run:
            self._values.append(writes.seqs[key])

    def sql(self, notify: bool) -> str:
        """The statement; it raises where fewer rows than expected could be changed."""
        return _statement(tuple(self._steps), notify)

    def values(self, notices: list[str]) -> list[Any]:
        return [*self._values, notices] if notices else self._values


def _is_small(writes: Writes) -> bool:
    return all(len(rows) <= 1 for rows in writes.changed.values()) and all(
        len(rows) <= _FEW for rows in writes.made.values()
    )


@lru_cache(1024)
def _statement(steps: Sequence[Step], notify: bool) -> str:
    marks = 0

    def mark(kind: str) -> str:
        nonlocal marks
        marks += 1
        return f"${marks}::{kind}"

    parts: list[str] = []
    checks: list[str] = []
    for text, table, detail in steps:
        parts.append(text(table, detail, mark))
        if text is _update:
            checks.append(f"(select count(*) from upd_{table.TABLE}) = {mark('bigint')}")
        elif text is _update_row:
            checks.append(f"exists (select from upd_{table.TABLE})")
    last = f"select case when {' and '.join(checks) or 'true'} then 0 else windlass_raced() end"
    if notify:
        last += f", (select count(pg_notify('windlass', n)) from unnest({mark('text[]')}) n)"
    together = ",\n".join(parts)
    return f"with {together}\n{last}" if parts else last


def _delete(table: type[Row], _: None, mark: Mark) -> str:
    arrays = [mark("bigint[]" if is_number(table, name) else "text[]") for name in table.KEY]
    match = " and ".join(f"t.{name} = u.{name}" for name in table.KEY)
    return (
        f"del_{table.TABLE} as (delete from {table.TABLE} t"
        f" using unnest({', '.join(arrays)}) as u({', '.join(table.KEY)}) where {match})"
    )


def _update(table: type[Row], _: None, mark: Mark) -> str:
    source = f"unnest({mark(f'{table.TABLE}[]')})"
    match = " and ".join(f"t.{name} = u.{name}" for name in table.KEY)
    names = ", ".join(columns(table))
    if table is Run:
        source = f"rows from ({source}, unnest({mark('bigint[]')}))"
        names += ", seq_was"
        match += " and t.seq = u.seq_was"
    sets = ", ".join(
        f"{name} = coalesce(u.{name}, t.{name})" if name in table.LATE else f"{name} = u.{name}"
        for name in changing(table)
    )
    return (
        f"upd_{table.TABLE} as (update {table.TABLE} t set {sets}"
        f" from {source} as u({names}) where {match} returning 1)"
    )


def _insert(table: type[Row], _: None, mark: Mark) -> str:
    return (
        f"ins_{table.TABLE} as (insert into {table.TABLE}"
        f" select * from unnest({mark(f'{table.TABLE}[]')}){on_conflict(table)})"
    )


def _update_row(table: type[Row], change: Differing, mark: Mark) -> str:
    def value(name: str) -> str:
        return mark("bigint" if is_number(table, name) else "text")

    sets = ", ".join(
        f"{name} = coalesce({value(name)}, {name})"
        if name in table.LATE
        else f"{name} = {value(name)}"
        for name in change.names
    )
    match = " and ".join(f"{name} = {value(name)}" for name in table.KEY)
    if table is Run:
        match += f" and seq = {mark('bigint')}"
    return f"upd_{table.TABLE} as (update {table.TABLE} set {sets} where {match} returning 1)"


def _insert_few(table: type[Row], count: int, mark: Mark) -> str:
    kinds = ["bigint" if is_number(table, name) else "text" for name in columns(table)]
    rows = ", ".join(f"({', '.join(map(mark, kinds))})" for _ in range(count))
    names = ", ".join(columns(table))
    return (
        f"ins_{table.TABLE} as (insert into {table.TABLE} ({names}) values {rows}"
        f"{on_conflict(table)})"
    )


def _changed(
    table: type[Row], rows: Mapping[Any, Row], was: Mapping[Any, Row]
) -> list[tuple[Any, ...]]:
    """Rows travel whole but for what is written once: payloads need not go twice."""
    late, all_late, none_late = _layout(table)
    if not late:
        return [none_late((*astuple(row), None)) for row in rows.values()]
    tuples: list[tuple[Any, ...]] = []
    for key, row in rows.items():
        values = astuple(row)
        pick = all_late
        if key in was:
            before = astuple(was[key])
            if all(values[place] == before[place] for place in late):
                pick = none_late
        tuples.append(pick((*values, None)))
    return tuples


Pick = Callable[[tuple[Any, ...]], tuple[Any, ...]]
"""Takes a row's tuple with a None at its end, and gives it with None in some places."""


@cache
def _layout(table: type[Row]) -> tuple[tuple[int, ...], Pick, Pick]:
    """Where a row's tuple has what is written once and later; how to leave out what is written
    with the row, and how to leave out both."""
    late = places(table, tuple(sorted(table.LATE)))
    fixed = places(table, tuple(sorted(table.FIXED - set(table.KEY))))
    return late, _without(table, fixed), _without(table, (*fixed, *late))


def _without(table: type[Row], gone: tuple[int, ...]) -> Pick:
    width = len(columns(table))
    first, *rest = (width if place in gone else place for place in range(width))
    return itemgetter(first, *rest)

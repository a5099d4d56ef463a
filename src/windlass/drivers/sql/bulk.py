"""A whole save as one PostgreSQL statement over arrays of rows.

A table is a type too: one parameter per table carries all its rows. Twenty parallel arrays, one
per column, take ten times as long to start for the single row of an idle system.

What a statement says depends only on its steps, and the same few sets of steps come up again and
again: its text is made once for each.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

from msgspec.structs import astuple

from windlass.drivers.sql.statements import on_conflict
from windlass.drivers.sql.tables import (
    changing,
    columns,
    enums,
    is_number,
    key_tuple,
    places,
    to_tuple,
)
from windlass.model.rows import Row, Run
from windlass.ports.store import Writes

Step = tuple[Callable[[type[Row], Callable[[str], str]], str], type[Row]]
"""What writes a step's text, told the table and what makes the mark of its next parameter."""


class Saving:
    """The steps of a save, and the parameters of each in the order in which its text has them."""

    def __init__(self, writes: Writes) -> None:
        self._values: list[Any] = []
        self._steps: list[Step] = []
        for table, keys in writes.removed.items():
            if keys:
                self._steps.append((_delete, table))
                self._values += map(list, zip(*map(key_tuple, keys), strict=True))
        for table, rows in writes.changed.items():
            if rows:
                self._steps.append((_update, table))
                self._values.append(_changed(table, rows, writes.was.get(table, {})))
                if table is Run:
                    self._values.append([writes.seqs[key] for key in rows])
                self._values.append(len(rows))
        for table, rows in writes.made.items():
            if rows:
                self._steps.append((_insert, table))
                self._values.append([to_tuple(row) for row in rows.values()])

    def sql(self, notify: bool) -> str:
        """The statement; it raises where fewer rows than expected could be changed."""
        return _statement(tuple(self._steps), notify)

    def values(self, notices: list[str]) -> list[Any]:
        return [*self._values, notices] if notices else self._values


@lru_cache(1024)
def _statement(steps: Sequence[Step], notify: bool) -> str:
    marks = 0

    def mark(kind: str) -> str:
        nonlocal marks
        marks += 1
        return f"${marks}::{kind}"

    parts: list[str] = []
    checks: list[str] = []
    for text, table in steps:
        parts.append(text(table, mark))
        if text is _update:
            checks.append(f"(select count(*) from upd_{table.TABLE}) = {mark('bigint')}")
    last = f"select case when {' and '.join(checks) or 'true'} then 0 else windlass_raced() end"
    if notify:
        last += f", (select count(pg_notify('windlass', n)) from unnest({mark('text[]')}) n)"
    together = ",\n".join(parts)
    return f"with {together}\n{last}" if parts else last


def _delete(table: type[Row], mark: Callable[[str], str]) -> str:
    arrays = [mark("bigint[]" if is_number(table, name) else "text[]") for name in table.KEY]
    match = " and ".join(f"t.{name} = u.{name}" for name in table.KEY)
    return (
        f"del_{table.TABLE} as (delete from {table.TABLE} t"
        f" using unnest({', '.join(arrays)}) as u({', '.join(table.KEY)}) where {match})"
    )


def _update(table: type[Row], mark: Callable[[str], str]) -> str:
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


def _insert(table: type[Row], mark: Callable[[str], str]) -> str:
    return (
        f"ins_{table.TABLE} as (insert into {table.TABLE}"
        f" select * from unnest({mark(f'{table.TABLE}[]')}){on_conflict(table)})"
    )


def _changed(
    table: type[Row], rows: Mapping[Any, Row], was: Mapping[Any, Row]
) -> list[tuple[Any, ...]]:
    """Rows travel whole but for what is written once: payloads need not go twice."""
    states, fixed, late = _layout(table)
    tuples: list[tuple[Any, ...]] = []
    for key, row in rows.items():
        values = list(astuple(row))
        for place in states:
            values[place] = str(values[place])
        for place in fixed:
            values[place] = None
        if late and key in was:
            before = astuple(was[key])
            if all(values[place] == before[place] for place in late):
                for place in late:
                    values[place] = None
        tuples.append(tuple(values))
    return tuples


@cache
def _layout(table: type[Row]) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Where a row's tuple has states, what is written once with it, and what once later."""
    once = tuple(sorted(table.FIXED - set(table.KEY))), tuple(sorted(table.LATE))
    return enums(table), places(table, once[0]), places(table, once[1])

"""A whole save as one PostgreSQL statement over arrays of rows.

A table is a type too: one parameter per table carries all its rows. Twenty parallel arrays, one
per column, take ten times as long to start for the single row of an idle system.
"""

from typing import Any

from windlass.drivers.sql.statements import on_conflict
from windlass.drivers.sql.tables import changing, columns, is_number, key_tuple, places, to_tuple
from windlass.model.rows import Row, Run
from windlass.ports.store import Writes


class Saving:
    """Builds the statement and its parameters side by side, so that they cannot differ."""

    def __init__(self, writes: Writes) -> None:
        self._values: list[Any] = []
        self._parts: list[str] = []
        self._checks: list[str] = []
        for table, keys in writes.removed.items():
            if keys:
                self._delete(table, list(keys))
        for table, rows in writes.changed.items():
            if rows:
                self._update(table, rows, writes)
        for table, rows in writes.made.items():
            if rows:
                self._insert(table, list(rows.values()))

    def sql(self, notify: bool) -> str:
        """The statement; it raises where fewer rows than expected could be changed."""
        checks = " and ".join(self._checks) or "true"
        last = f"select case when {checks} then 0 else windlass_raced() end"
        if notify:
            mark = f"${len(self._values) + 1}::text[]"
            last += f", (select count(pg_notify('windlass', n)) from unnest({mark}) n)"
        parts = ",\n".join(self._parts)
        return f"with {parts}\n{last}" if parts else last

    def values(self, notices: list[str]) -> list[Any]:
        return [*self._values, notices] if notices else self._values

    def _parameter(self, value: Any, kind: str) -> str:
        self._values.append(value)
        return f"${len(self._values)}::{kind}"

    def _delete(self, table: type[Row], keys: list[Any]) -> None:
        columns_of_key = zip(*(key_tuple(key) for key in keys), strict=True)
        arrays = [
            self._parameter(list(column), "bigint[]" if is_number(table, name) else "text[]")
            for name, column in zip(table.KEY, columns_of_key, strict=True)
        ]
        match = " and ".join(f"t.{name} = u.{name}" for name in table.KEY)
        self._parts.append(
            f"del_{table.TABLE} as (delete from {table.TABLE} t"
            f" using unnest({', '.join(arrays)}) as u({', '.join(table.KEY)}) where {match})"
        )

    def _update(self, table: type[Row], rows: dict[Any, Row], writes: Writes) -> None:
        """Rows travel whole but for what is written once: payloads need not go twice."""
        fixed = places(table, tuple(sorted(table.FIXED)))
        both = (*fixed, *places(table, tuple(sorted(table.LATE))))
        late = late_rows(table, rows, writes)
        tuples = [
            without(to_tuple(row), fixed if key in late else both) for key, row in rows.items()
        ]
        source = f"unnest({self._parameter(tuples, f'{table.TABLE}[]')})"
        match = " and ".join(f"t.{name} = u.{name}" for name in table.KEY)
        names = ", ".join(columns(table))
        if table is Run:
            was = self._parameter([writes.seqs[key] for key in rows], "bigint[]")
            source = f"rows from ({source}, unnest({was}))"
            names += ", seq_was"
            match += " and t.seq = u.seq_was"
        sets = ", ".join(
            f"{name} = coalesce(u.{name}, t.{name})" if name in table.LATE else f"{name} = u.{name}"
            for name in changing(table)
        )
        self._parts.append(
            f"upd_{table.TABLE} as (update {table.TABLE} t set {sets}"
            f" from {source} as u({names}) where {match} returning 1)"
        )
        count = f"(select count(*) from upd_{table.TABLE})"
        self._checks.append(f"{count} = {self._parameter(len(rows), 'bigint')}")

    def _insert(self, table: type[Row], rows: list[Row]) -> None:
        source = self._parameter([to_tuple(row) for row in rows], f"{table.TABLE}[]")
        self._parts.append(
            f"ins_{table.TABLE} as (insert into {table.TABLE}"
            f" select * from unnest({source}){on_conflict(table)})"
        )


def late_rows(table: type[Row], rows: dict[Any, Row], writes: Writes) -> set[Any]:
    """Keys of rows in which a late column is written now."""
    was = writes.was.get(table, {})
    return {
        key
        for key, row in rows.items()
        for name in table.LATE
        if key not in was or getattr(row, name) != getattr(was[key], name)
    }


def without(values: tuple[Any, ...], gone: tuple[int, ...]) -> tuple[Any, ...]:
    """A tuple with nothing at some places."""
    if not gone:
        return values
    kept = list(values)
    for place in gone:
        kept[place] = None
    return tuple(kept)

"""A whole save as one PostgreSQL statement over arrays."""

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
                self._update(table, [to_tuple(row) for row in rows.values()], writes.seqs)
        for table, rows in writes.made.items():
            if rows:
                self._insert(table, [to_tuple(row) for row in rows.values()])

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

    def _arrays(self, table: type[Row], names: tuple[str, ...], arrays: list[list[Any]]) -> str:
        """Parameters for arrays, one per column: `unnest($1::text[], $2::bigint[])`."""
        marks: list[str] = []
        for name, array in zip(names, arrays, strict=True):
            self._values.append(array)
            kind = "bigint" if name == "seq_was" or is_number(table, name) else "text"
            marks.append(f"${len(self._values)}::{kind}[]")
        return f"unnest({', '.join(marks)})"

    def _delete(self, table: type[Row], keys: list[Any]) -> None:
        many = [key_tuple(key) for key in keys]
        arrays = [list(column) for column in zip(*many, strict=True)]
        source = self._arrays(table, table.KEY, arrays)
        match = " and ".join(f"t.{name} = u.{name}" for name in table.KEY)
        self._parts.append(
            f"del_{table.TABLE} as (delete from {table.TABLE} t"
            f" using {source} as u({', '.join(table.KEY)}) where {match})"
        )

    def _update(
        self, table: type[Row], tuples: list[tuple[Any, ...]], seqs: dict[str, int]
    ) -> None:
        names = (*table.KEY, *changing(table))
        arrays = [[row[place] for row in tuples] for place in places(table, names)]
        match = " and ".join(f"t.{name} = u.{name}" for name in table.KEY)
        if table is Run:
            names = (*names, "seq_was")
            arrays.append([seqs[run_id] for run_id in arrays[0]])
            match += " and t.seq = u.seq_was"
        source = self._arrays(table, names, arrays)
        sets = ", ".join(f"{name} = u.{name}" for name in changing(table))
        self._parts.append(
            f"upd_{table.TABLE} as (update {table.TABLE} t set {sets}"
            f" from {source} as u({', '.join(names)}) where {match} returning 1)"
        )
        self._values.append(len(tuples))
        count = f"(select count(*) from upd_{table.TABLE})"
        self._checks.append(f"{count} = ${len(self._values)}::bigint")

    def _insert(self, table: type[Row], tuples: list[tuple[Any, ...]]) -> None:
        names = columns(table)
        arrays = [list(column) for column in zip(*tuples, strict=True)]
        source = self._arrays(table, names, arrays)
        self._parts.append(
            f"ins_{table.TABLE} as (insert into {table.TABLE} ({', '.join(names)})"
            f" select * from {source}{on_conflict(table)})"
        )

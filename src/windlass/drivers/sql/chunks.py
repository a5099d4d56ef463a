"""Writing rows to SQLite, many with each statement.

Python lets go of its lock for every step of a statement, and has to have it back after. A row at a
time that is a third of what writing costs, and many times as much while another thread computes:
such a thread gives the lock back only every few milliseconds.
"""

import sqlite3
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any

from windlass.drivers.sql.statements import insert, update
from windlass.drivers.sql.tables import Differing
from windlass.model.rows import Row, Run

_SIZES = (32, 8)
"""How many rows a statement writes; what is left over is written one by one."""


def insert_rows(db: sqlite3.Connection, table: type[Row], rows: Sequence[tuple[Any, ...]]) -> None:
    _write(db, lambda count: insert(table, count), rows)


def update_rows(db: sqlite3.Connection, change: Differing, rows: Sequence[tuple[Any, ...]]) -> int:
    """Write what differs, and then the keys, of some rows; a run's is followed by the `seq` it must
    still have. Tells how many there were to be written."""
    return _write(db, lambda count: _update(change, count), rows)


def _write(
    db: sqlite3.Connection, text: Callable[[int], str], rows: Sequence[tuple[Any, ...]]
) -> int:
    done = written = 0
    for size in _SIZES:
        while len(rows) - done >= size:
            values = list(chain.from_iterable(rows[done : done + size]))
            written += db.execute(text(size), values).rowcount
            done += size
    if done < len(rows):
        written += db.executemany(text(1), rows[done:]).rowcount
    return written


@lru_cache(4096)
def _update(change: Differing, count: int) -> str:
    table, names = change.table, change.names
    fence = ("seq",) if table is Run else ()
    if count == 1:
        return update(table, names) + "".join(f" and {name} = ?" for name in fence)
    # The columns of `values` are called column1, column2 and so on.
    given = {name: at for at, name in enumerate((*names, *table.KEY), 1)}
    sets = ", ".join(
        f"{name} = coalesce(v.column{given[name]}, {table.TABLE}.{name})"
        if name in table.LATE
        else f"{name} = v.column{given[name]}"
        for name in names
    )
    match = [f"{table.TABLE}.{name} = v.column{given[name]}" for name in table.KEY]
    match += [f"{table.TABLE}.{name} = v.column{len(given) + 1}" for name in fence]
    row = f"({', '.join('?' * (len(given) + len(fence)))})"
    values = ", ".join([row] * count)
    where = " and ".join(match)
    return f"update {table.TABLE} set {sets} from (values {values}) as v where {where}"

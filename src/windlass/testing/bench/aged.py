"""An aged database: a million finished runs beside the ones that are measured (W7)."""

import sqlite3
from typing import Any

import asyncpg

from windlass.model.rows import Run
from windlass.wiring.stores import sqlite_path

_OLD_MS = 1_700_000_000_000


async def age(db: str, count: int) -> None:
    """Fill a migrated database with finished runs, three tasks and four events each."""
    path = sqlite_path(db)
    if path is not None:
        _age_sqlite(path, count)
    else:
        await _age_postgres(db, count)


def _values(number: str) -> dict[str, str]:
    run = f"'00000000-0000-7000-8000-' || {number}"
    return {
        "id": run,
        "version_id": "'old'",
        "flow_id": "'old'",
        "flow_name": "'old'",
        "state": "'succeeded'",
        "params": "'{}'",
        "request_id": "''",
        "tags": "'{}'",
        "node": "''",
        "action": "''",
        "error": "null",
        "started_at": str(_OLD_MS),
        "created_at": str(_OLD_MS),
        "updated_at": str(_OLD_MS),
        "finished_at": str(_OLD_MS),
    }


def _statements(number: str, source: str) -> list[str]:
    columns = Run.__struct_fields__
    given = _values(number)
    run = ", ".join(given.get(column, "0") for column in columns)
    tasks = (
        f"select {given['id']} || '~n.' || s, {given['id']}, {given['id']}, 'n', 'call',"
        " 'succeeded', 0, s, -1, 'local:noop', 0, 0, 1, 0, 0, null, 0, 0, null, null,"
        " 0, 0, 0, 0, 0,"
        f" 'null', '{{}}', null, '', 1, 2, {_OLD_MS}, {_OLD_MS}, {_OLD_MS}"
    )
    steps = "(select 1 as s union all select 2 union all select 3) steps"
    events = f"select {given['id']}, s, 'attempt.succeeded', null, {_OLD_MS}, '{{}}'"
    return [
        f"insert into runs ({', '.join(columns)}) select {run} from {source}",
        f"insert into tasks {tasks} from {source}, {steps}",
        f"insert into events {events} from {source}, {steps}",
    ]


def _age_sqlite(path: str, count: int) -> None:
    db = sqlite3.connect(path, isolation_level=None)
    try:
        db.execute("pragma synchronous = off")
        source = (
            f"(with recursive n(i) as (select 1 union all select i + 1 from n where i < {count})"
            " select i from n) numbers"
        )
        for statement in _statements("printf('%012x', i)", source):
            db.execute(statement)
        db.execute("pragma wal_checkpoint(truncate)")
    finally:
        db.close()


async def _age_postgres(url: str, count: int) -> None:
    connection: Any = await asyncpg.connect(url)
    try:
        for table in ("runs", "tasks", "events"):
            await connection.execute(f"alter table {table} set (autovacuum_enabled = false)")
        source = f"generate_series(1, {count}) numbers(i)"
        for statement in _statements("lpad(to_hex(i), 12, '0')", source):
            await connection.execute(statement)
        # Settled, so that neither the loading nor what the database does about it in the
        # background is measured, but un-analysed on purpose: plans must not depend on statistics.
        await connection.execute("vacuum runs")
        await connection.execute("vacuum tasks")
        await connection.execute("vacuum events")
        await connection.execute("checkpoint")
    finally:
        await connection.close()

"""An aged database: a million finished runs beside the ones that are measured (W7)."""

import sqlite3
from typing import Any

import asyncpg
import msgspec

from windlass.model.rows import Event, Row, Run, Task
from windlass.wiring.stores import sqlite_path

_OLD_MS = 1_700_000_000_000


async def age(db: str, count: int) -> None:
    """Fill a migrated database with finished runs, three tasks and four events each."""
    path = sqlite_path(db)
    if path is not None:
        _age_sqlite(path, count)
    else:
        await _age_postgres(db, count)


def _insert(table: type[Row], source: str, **given: str) -> str:
    """A statement that adds rows of expressions; what they leave out is as the model has it."""
    values: dict[str, str] = {}
    for field in msgspec.structs.fields(table):
        default = None if field.default is msgspec.NODEFAULT else field.default
        values[field.name] = given.get(field.name) or _literal(default)
    columns = ", ".join(values)
    return (
        f"insert into {table.TABLE} ({columns}) select {', '.join(values.values())} from {source}"
    )


def _literal(value: object) -> str:
    if value is None:
        return "null"
    return f"'{value}'" if isinstance(value, str) else str(value)


def _statements(number: str, source: str) -> list[str]:
    run = f"'00000000-0000-7000-8000-' || {number}"
    old, done = str(_OLD_MS), "'succeeded'"
    times = {"created_at": old, "started_at": old, "finished_at": old}
    steps = f"{source}, (select 1 as s union all select 2 union all select 3) steps"
    names = dict.fromkeys(("version_id", "flow_id", "flow_name"), "'old'")
    return [
        _insert(Run, source, id=run, state=done, params="'{}'", updated_at=old, **names, **times),
        _insert(
            Task,
            steps,
            id=f"{run} || '~n.' || s",
            run_id=run,
            scope=run,
            node="'n'",
            kind="'call'",
            state=done,
            step="s",
            queue="'local:noop'",
            ready_at="0",
            attempts="1",
            input="'null'",
            output="'{}'",
            made_seq="1",
            ended_seq="2",
            **times,
        ),
        _insert(Event, steps, run_id=run, seq="s", type="'attempt.succeeded'", at=old),
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
    # The tables themselves, rather than a release's views of them.
    connection: Any = await asyncpg.connect(url, server_settings={"search_path": "windlass"})
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

"""Brings a PostgreSQL database to the newest schema, under an advisory lock, while servers run.

The tables live in the namespace `windlass`. Each release works on views in a namespace of its own
that show the columns it knows, so a row's type, by which rows are sent, never changes under it.
"""

import secrets
import time

import asyncpg

from windlass.drivers.sql.migrate import FIRST_RECORDED, OLDEST, SCHEMA, Found
from windlass.drivers.sql.queries import Migration, load_migrations

WORDS = {"id": 'text collate "C"', "clustered": ""}
TABLES = "windlass"
"""The namespace of the tables themselves."""
RELEASE = f"windlass_{SCHEMA}"
"""The namespace of this release's views."""
_LOCK = 0x77696E64
"""Any number, the same in every process: two migrations never run at once."""
_CONNECTED = "application_name = 'windlass' and datname = current_database()"


async def migrate(url: str) -> list[str]:
    """Apply what is missing; returns the names of the migrations that ran."""
    connection = await asyncpg.connect(url)
    try:
        async with connection.transaction():
            await connection.execute("select pg_advisory_xact_lock($1)", _LOCK)
            await connection.execute(
                "create table if not exists schema_version (number bigint not null)"
            )
            done = (await found(connection)).newest
            missing = [m for m in load_migrations("postgres", WORDS) if m.number > done]
            for migration in missing:
                await _apply(connection, migration)
            if missing:
                await _show(connection)
                await connection.execute("delete from public.schema_version")
                await connection.execute("insert into public.schema_version values ($1)", OLDEST)
                # Programs keep statements prepared for the tables as they were. They wait for our
                # locks now; cut off, they come back and prepare anew. They do the same whenever
                # the database restarts.
                await connection.execute(
                    f"select pg_terminate_backend(pid) from pg_stat_activity where {_CONNECTED}"
                )
            return [migration.name for migration in missing]
    finally:
        await connection.close()


async def _apply(connection: "asyncpg.Connection[asyncpg.Record]", migration: Migration) -> None:
    if migration.number > FIRST_RECORDED:
        await connection.execute(f"set local search_path to {TABLES}, public")
    await connection.execute(migration.script)
    if migration.number >= FIRST_RECORDED:
        await connection.execute(
            f"insert into {TABLES}.migrations values ($1, $2, $3)",
            migration.number,
            migration.name,
            time.time_ns() // 1_000_000,
        )


async def _show(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    """Make this release's views, with the columns that the tables have now."""
    await connection.execute(f"drop schema if exists {RELEASE} cascade")
    await connection.execute(f"create schema {RELEASE}")
    tables = await connection.fetch("select tablename from pg_tables where schemaname = $1", TABLES)
    for (name,) in tables:
        await connection.execute(
            f'create view {RELEASE}."{name}" as select * from {TABLES}."{name}"'
        )
    secret = f"insert into {TABLES}.meta values ('secret', $1) on conflict do nothing"
    await connection.execute(secret, secrets.token_hex(32))


async def found(connection: "asyncpg.Connection[asyncpg.Record]") -> Found:
    """Which migrations ran, and which programs may run."""
    if await connection.fetchval("select to_regclass('public.schema_version')") is None:
        return Found(0, 0)
    oldest = int(await connection.fetchval("select max(number) from public.schema_version") or 0)
    if await connection.fetchval(f"select to_regclass('{TABLES}.migrations')") is None:
        return Found(oldest, oldest)
    newest = await connection.fetchval(f"select max(number) from {TABLES}.migrations")
    return Found(int(newest), oldest)

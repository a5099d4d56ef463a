"""Brings a PostgreSQL database to the newest schema, under an advisory lock."""

import secrets

import asyncpg

from windlass.drivers.sql.queries import load_migrations

WORDS = {"id": 'text collate "C"', "clustered": ""}
_LOCK = 0x77696E64
"""Any number, the same in every process: two migrations never run at once."""


async def migrate(url: str) -> list[str]:
    """Apply what is missing; returns the names of the migrations that ran."""
    connection = await asyncpg.connect(url)
    try:
        async with connection.transaction():
            await connection.execute("select pg_advisory_xact_lock($1)", _LOCK)
            await connection.execute(
                "create table if not exists schema_version (number bigint not null)"
            )
            done = await schema_version(connection)
            ran: list[str] = []
            for migration in load_migrations("postgres", WORDS):
                if migration.number > done:
                    await connection.execute(migration.script)
                    await connection.execute("delete from schema_version")
                    await connection.execute(
                        "insert into schema_version values ($1)", migration.number
                    )
                    ran.append(migration.name)
            sql = "insert into meta values ('secret', $1) on conflict do nothing"
            await connection.execute(sql, secrets.token_hex(32))
            return ran
    finally:
        await connection.close()


async def schema_version(connection: "asyncpg.Connection[asyncpg.Record]") -> int:
    """The number of the newest migration that ran; 0 on an empty database."""
    table = await connection.fetchval("select to_regclass('schema_version')")
    if table is None:
        return 0
    return int(await connection.fetchval("select max(number) from schema_version") or 0)

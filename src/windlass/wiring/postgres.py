"""PostgreSQL's part of opening and preparing a database; needs the `postgres` extra."""

import asyncpg

from windlass.drivers.sql.migrate_postgres import migrate, schema_version
from windlass.drivers.store.postgres import PostgresStore
from windlass.model.errors import Unavailable


async def migrate_database(url: str) -> list[str]:
    try:
        return await migrate(url)
    except (OSError, asyncpg.PostgresError) as error:
        raise Unavailable(f"cannot migrate: {error}") from error


async def database_schema(url: str) -> int:
    try:
        connection = await asyncpg.connect(url)
        try:
            return await schema_version(connection)
        finally:
            await connection.close()
    except (OSError, asyncpg.PostgresError) as error:
        raise Unavailable(f"cannot reach PostgreSQL: {error}") from error


__all__ = ["PostgresStore", "database_schema", "migrate_database"]

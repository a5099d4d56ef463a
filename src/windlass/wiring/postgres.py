"""PostgreSQL's part of opening and preparing a database; needs the `postgres` extra."""

import asyncpg

from windlass.drivers.sql.migrate import Found
from windlass.drivers.sql.migrate_postgres import found, migrate
from windlass.drivers.store.postgres import PostgresStore
from windlass.model.errors import Unavailable


async def migrate_database(url: str) -> list[str]:
    try:
        return await migrate(url)
    except (OSError, asyncpg.PostgresError) as error:
        raise Unavailable(f"cannot migrate: {error}") from error


async def database_schema(url: str) -> Found:
    try:
        connection = await asyncpg.connect(url)
        try:
            return await found(connection)
        finally:
            await connection.close()
    except (OSError, asyncpg.PostgresError) as error:
        raise Unavailable(f"cannot reach PostgreSQL: {error}") from error


__all__ = ["PostgresStore", "database_schema", "migrate_database"]

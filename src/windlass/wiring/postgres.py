"""PostgreSQL's part of opening and preparing a database; needs the `postgres` extra."""

from pathlib import Path

import asyncpg

from windlass.drivers.blobs.postgres import PostgresBlobs
from windlass.drivers.sql.migrate import Found
from windlass.drivers.sql.migrate_postgres import found, migrate
from windlass.drivers.store.postgres import PostgresStore
from windlass.model.errors import Unavailable
from windlass.ports.store import Store


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


def blobs_of(store: Store, folder: Path) -> PostgresBlobs:
    assert isinstance(store, PostgresStore), "blobs are kept where the rest is"
    return PostgresBlobs(store.connection, folder)


__all__ = ["PostgresStore", "blobs_of", "database_schema", "migrate_database"]

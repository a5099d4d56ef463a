"""Databases by URL: opening, preparing and asking for their schema."""

import sqlite3
from pathlib import Path

from windlass.drivers.sql.migrate import SCHEMA
from windlass.drivers.sql.migrate_sqlite import migrate as migrate_sqlite
from windlass.drivers.store.sqlite import SqliteStore
from windlass.model.errors import BadRequest, Unavailable
from windlass.ports.store import Store

try:
    import asyncpg

    from windlass.drivers.sql.migrate_postgres import migrate as migrate_postgres
    from windlass.drivers.sql.migrate_postgres import schema_version
    from windlass.drivers.store.postgres import PostgresStore

    POSTGRES = True
except ImportError:  # the extra is not installed
    POSTGRES = False


def sqlite_path(url: str) -> str | None:
    """The file an SQLite URL names; None for other databases."""
    return url.removeprefix("sqlite:///") if url.startswith("sqlite:///") else None


def check_url(url: str) -> None:
    if sqlite_path(url) is not None:
        return
    if not url.startswith(("postgresql://", "postgres://")):
        raise BadRequest(f'"{url}" is neither sqlite:///FILE nor postgresql://…')
    if not POSTGRES:
        raise Unavailable("PostgreSQL needs asyncpg; pip install 'windlass[postgres]'")


async def migrate(url: str) -> list[str]:
    """Bring a database to this program's schema; returns what ran."""
    check_url(url)
    path = sqlite_path(url)
    if path is not None:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        return migrate_sqlite(path)
    try:
        return await migrate_postgres(url)
    except (OSError, asyncpg.PostgresError) as error:
        raise Unavailable(f"cannot migrate: {error}") from error


async def schema(url: str) -> tuple[int, int]:
    """The schema a database has, and the one this program needs."""
    check_url(url)
    path = sqlite_path(url)
    if path is not None:
        return sqlite_schema(path), SCHEMA
    try:
        connection = await asyncpg.connect(url)
        try:
            return await schema_version(connection), SCHEMA
        finally:
            await connection.close()
    except (OSError, asyncpg.PostgresError) as error:
        raise Unavailable(f"cannot reach PostgreSQL: {error}") from error


def sqlite_schema(path: str) -> int:
    if not Path(path).exists():
        return 0
    database = sqlite3.connect(path)
    try:
        return int(database.execute("pragma user_version").fetchone()[0])
    finally:
        database.close()


async def open_store(url: str) -> Store:
    """A store on a database. An empty one is set up; an older one is left to its operator."""
    found, _ = await schema(url)
    if found == 0:
        await migrate(url)
    path = sqlite_path(url)
    if path is not None:
        return SqliteStore(path)
    return await PostgresStore.open(url)

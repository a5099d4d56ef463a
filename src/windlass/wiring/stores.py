"""Databases by URL: opening, preparing and asking for their schema.

PostgreSQL is imported only when it is used: its client is an extra.
"""

import sqlite3
from importlib.util import find_spec
from pathlib import Path

from windlass.drivers.blobs.files import FileBlobs
from windlass.drivers.sql import migrate_sqlite
from windlass.drivers.sql.migrate import Found
from windlass.drivers.store.sqlite import SqliteStore
from windlass.model.errors import BadRequest, Unavailable
from windlass.ports.blobs import Blobs
from windlass.ports.store import Store


def sqlite_path(url: str) -> str | None:
    """The file an SQLite URL names; None for other databases."""
    return url.removeprefix("sqlite:///") if url.startswith("sqlite:///") else None


def check_url(url: str) -> None:
    if sqlite_path(url) is not None:
        return
    if not url.startswith(("postgresql://", "postgres://")):
        raise BadRequest(f'"{url}" is neither sqlite:///FILE nor postgresql://…')
    if find_spec("asyncpg") is None:
        raise Unavailable("PostgreSQL needs asyncpg; pip install 'windlass[postgres]'")


async def migrate(url: str) -> list[str]:
    """Bring a database to this program's schema; returns what ran."""
    check_url(url)
    path = sqlite_path(url)
    if path is not None:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        return migrate_sqlite.migrate(path)
    from windlass.wiring import postgres

    return await postgres.migrate_database(url)


async def schema(url: str) -> Found:
    """The schema a database has."""
    check_url(url)
    path = sqlite_path(url)
    if path is not None:
        return sqlite_schema(path)
    from windlass.wiring import postgres

    return await postgres.database_schema(url)


def sqlite_schema(path: str) -> Found:
    if not Path(path).exists():
        return Found(0, 0)
    database = sqlite3.connect(path)
    try:
        return migrate_sqlite.found(database)
    finally:
        database.close()


async def open_store(url: str) -> Store:
    """A store on a database. An empty one is set up; an older one is left to its operator."""
    if (await schema(url)).newest == 0:
        await migrate(url)
    path = sqlite_path(url)
    if path is not None:
        return SqliteStore(path)
    from windlass.wiring import postgres

    return await postgres.PostgresStore.open(url)


def open_blobs(store: Store, folder: Path, where: str = "") -> Blobs:
    """Blobs beside a store: in PostgreSQL itself, or in a folder."""
    if isinstance(store, SqliteStore):
        if where == "database":
            raise BadRequest("only PostgreSQL keeps packages and uploads in the database")
        return FileBlobs(folder)
    if where == "files":
        return FileBlobs(folder)
    from windlass.wiring import postgres

    return postgres.blobs_of(store, folder)

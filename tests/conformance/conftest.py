"""Stores of every driver, opened on a fresh database each; a test may open it more than once."""

import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path

import pytest

from windlass.drivers.sql import migrate_postgres, migrate_sqlite
from windlass.drivers.store.postgres import PostgresStore
from windlass.drivers.store.sqlite import SqliteStore
from windlass.ports.store import Store
from windlass.testing.memory import MemoryDatabase, MemoryStore

Open = Callable[[], Awaitable[Store]]
"""Opens one more connection to the test's database."""


def real_ms() -> int:
    return time.time_ns() // 1_000_000


@pytest.fixture(params=["memory", "sqlite", "postgres"])
async def open_store(
    request: pytest.FixtureRequest, tmp_path: Path, anyio_backend: object
) -> AsyncGenerator[Open, None]:
    opened: list[Store] = []
    database = MemoryDatabase(real_ms)
    path = str(tmp_path / "windlass.db")
    url = ""
    if request.param == "sqlite":
        migrate_sqlite.migrate(path)
    elif request.param == "postgres":
        url = request.getfixturevalue("postgres_url")
        await migrate_postgres.migrate(url)

    async def open_one() -> Store:
        store: Store
        if request.param == "memory":
            store = MemoryStore(database, f"memory-{len(opened)}")
        elif request.param == "sqlite":
            store = SqliteStore(path)
        else:
            store = await PostgresStore.open(url)
        opened.append(store)
        return store

    yield open_one
    for store in opened:
        await store.close()


@pytest.fixture
async def store(open_store: Open) -> Store:
    return await open_store()

"""SQLite alone: its write-ahead log begins anew however busy whoever writes is."""

import asyncio
from pathlib import Path

import pytest

from tests.conformance.rows import a_run
from windlass.drivers.sql import migrate_sqlite
from windlass.drivers.store.sqlite import SqliteStore
from windlass.model.rows import Run
from windlass.ports.store import Writes

pytestmark = pytest.mark.anyio
_PAGE = 4096
_COMMITS = 400
_PAGES_EACH = 100
_TIMES = 40


def size_of(path: str) -> int:
    return Path(path).stat().st_size


async def test_the_log_stays_short_while_somebody_commits_all_the_time(tmp_path: Path) -> None:
    path = str(tmp_path / "windlass.db")
    migrate_sqlite.migrate(path)
    store = SqliteStore(path)
    longest = 0
    long = '"' + "x" * (_PAGE * _PAGES_EACH) + '"'
    for number in range(_COMMITS):
        row = a_run(f"run-{number}", params=long)
        async with store.session() as session:
            await session.save(Writes(made={Run: {row.id: row}}))
        longest = max(longest, size_of(path + "-wal"))
    assert await store.count(Run) == _COMMITS
    await store.close()
    written = _COMMITS * _PAGES_EACH * _PAGE
    assert longest < written / 3, "all that was ever committed is still in the log"


async def test_what_is_committed_after_the_log_began_anew_is_there(tmp_path: Path) -> None:
    path = str(tmp_path / "windlass.db")
    migrate_sqlite.migrate(path)
    store = SqliteStore(path)
    long = '"' + "x" * (_PAGE * 300) + '"'
    for number in range(_TIMES):
        row = a_run(f"run-{number}", params=long)
        async with store.session() as session:
            await session.save(Writes(made={Run: {row.id: row}}))
        await asyncio.sleep(0.02)
    await store.close()
    again = SqliteStore(path)
    assert [row.id for row in await again.page(Run)] == sorted(f"run-{n}" for n in range(_TIMES))
    await again.close()

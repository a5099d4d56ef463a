"""Blobs in PostgreSQL, piece by piece, so that servers on several machines need no shared volume.

A blob's pieces stand under a mark of their own, which its key points at: a blob kept anew has
another mark, so a copy that somebody fetched under the old one is never taken for it. Copies are
files in a local folder, the ones used longest ago given up first.
"""

import asyncio
import secrets
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from windlass.drivers.blobs.files import FileBlobs, place_of
from windlass.model.errors import NotFound

_PIECE_BYTES = 1024 * 1024
_COPIES_BYTES = 2 * 1024**3
_COPY_S = 600.0
"""A copy used more recently is not given up: somebody may be about to read it."""


class PostgresBlobs:
    """Blobs in a database. What is in the folder from before there were such is found too."""

    where = "database"

    def __init__(
        self,
        connection: Callable[[], AbstractAsyncContextManager[Any]],
        folder: Path,
        copies_bytes: int = _COPIES_BYTES,
    ) -> None:
        self._connection = connection
        self._files = FileBlobs(folder)
        self._copies = folder / "copies"
        self._copies_bytes = copies_bytes

    def scratch(self, name: str) -> Path:
        return self._files.scratch(name)

    async def keep(self, key: str, scratch: Path) -> None:
        place_of(self._copies, key)  # what cannot be a file's name is no key here either
        mark, size = secrets.token_hex(16), 0
        async with self._connection() as connection, connection.transaction():
            with scratch.open("rb") as file:
                for number in range(1 << 30):
                    piece = await asyncio.to_thread(file.read, _PIECE_BYTES)
                    if not piece:
                        break
                    size += len(piece)
                    sql = "insert into blob_pieces (mark, number, content) values ($1, $2, $3)"
                    await connection.execute(sql, mark, number, piece)
            # Whoever keeps the same key at the same moment comes after.
            await connection.execute("select pg_advisory_xact_lock(hashtextextended($1, 7))", key)
            await self._forget(connection, key)
            sql = "insert into blobs (key, mark, size_bytes, created_at) values ($1, $2, $3, $4)"
            await connection.execute(sql, key, mark, size, time.time_ns() // 1_000_000)
        await asyncio.to_thread(scratch.unlink, missing_ok=True)

    async def path(self, key: str) -> Path:
        place_of(self._copies, key)
        async with self._connection() as connection:
            sql = "select mark, size_bytes from blobs where key = $1"
            row = await connection.fetchrow(sql, key)
        if row is None:
            return await self._files.path(key)
        copy = self._copies / str(row["mark"])
        if not await asyncio.to_thread(self._is_whole, copy, row["size_bytes"]):
            await self._fetch(key, row["mark"], copy)
        return copy

    async def _fetch(self, key: str, mark: str, copy: Path) -> None:
        """Make a local copy: whole under its name, or not at all."""
        sql = "select content from blob_pieces where mark = $1 and number = $2"
        scratch = self._files.scratch(secrets.token_hex(16))
        try:
            async with self._connection() as connection:
                with scratch.open("wb") as file:
                    number = 0
                    while (piece := await connection.fetchval(sql, mark, number)) is not None:
                        await asyncio.to_thread(file.write, piece)
                        number += 1
                left = await connection.fetchval("select 1 from blobs where mark = $1", mark)
            if left is None:
                raise NotFound(f'nothing is kept under "{key}" any more')
            await asyncio.to_thread(self._take, scratch, copy)
        finally:
            await asyncio.to_thread(scratch.unlink, missing_ok=True)

    def _is_whole(self, copy: Path, size: int) -> bool:
        if not copy.is_file() or copy.stat().st_size != size:
            return False
        copy.touch()
        return True

    def _take(self, scratch: Path, copy: Path) -> None:
        copy.parent.mkdir(parents=True, exist_ok=True)
        scratch.replace(copy)
        found = sorted((path.stat().st_mtime, path) for path in copy.parent.iterdir())
        total = sum(path.stat().st_size for _, path in found)
        for used_at, path in found:
            if total <= self._copies_bytes or time.time() - used_at < _COPY_S:
                break
            total -= path.stat().st_size
            path.unlink(missing_ok=True)

    async def present(self, keys: Sequence[str]) -> set[str]:
        async with self._connection() as connection:
            sql = "select key from blobs where key = any($1::text[])"
            rows = await connection.fetch(sql, list(keys))
        found = {row["key"] for row in rows}
        return found | await self._files.present([key for key in keys if key not in found])

    async def remove(self, key: str) -> None:
        async with self._connection() as connection, connection.transaction():
            await self._forget(connection, key)
        await self._files.remove(key)

    @staticmethod
    async def _forget(connection: Any, key: str) -> None:
        mark = await connection.fetchval("delete from blobs where key = $1 returning mark", key)
        if mark is not None:
            await connection.execute("delete from blob_pieces where mark = $1", mark)

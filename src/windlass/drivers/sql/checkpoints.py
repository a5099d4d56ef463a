"""Checkpoints of SQLite's write-ahead log, made beside the commits."""

import logging
import os
import sqlite3
import struct
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

log = logging.getLogger(__name__)

_FRAMES = 4000
"""How many pages the log gets before what is in it is moved. The shorter, the more often is a page
moved that changes again and again."""
_INDEX = struct.Struct("=16xI76xI")
"""Of the log's index, as SQLite documents it: how many frames the log has, and how many of them are
in the database already."""


Writer = Callable[[Callable[[sqlite3.Connection], None]], Future[None]]
"""Has something done by the one who commits."""


class Checkpoints:
    """Moves what was committed from the write-ahead log to the database, beside the commits:
    whoever commits waits for its own pages, and not for everybody's of the last second.

    The log begins anew only where all of it was moved, and while somebody commits all the time
    there is always something left. So the writer itself moves the last few pages.
    """

    def __init__(self, path: str, beside: sqlite3.Connection, writer: Writer) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="sqlite-checkpoints")
        self._beside = beside
        self._writer = writer
        self._last: Future[None] | None = None
        beside.execute("select 1 from meta").fetchone()  # from now on the log has its index
        self._index = os.open(f"{path}-shm", os.O_RDONLY)

    def soon(self) -> None:
        """Something was committed."""
        if (self._last is None or self._last.done()) and self._frames() >= _FRAMES:
            self._last = self._pool.submit(self._run)

    def _frames(self) -> int:
        """How many frames of the log are to be moved yet."""
        frames, moved = _INDEX.unpack(os.pread(self._index, _INDEX.size, 0))
        return int(frames - moved)

    def _run(self) -> None:
        _move(self._beside)
        if self._frames() < _FRAMES:
            self._writer(_move).result()

    def close(self) -> None:
        self._pool.shutdown(wait=True)
        self._beside.close()
        os.close(self._index)


def _move(db: sqlite3.Connection) -> None:
    try:
        db.execute("pragma wal_checkpoint(passive)").fetchone()
    except sqlite3.Error as error:
        log.warning("the write-ahead log stays as it is for now: %s", error)

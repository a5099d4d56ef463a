"""Checkpoints of SQLite's write-ahead log, made beside the commits."""

import logging
import sqlite3
import time
from concurrent.futures import Future, ThreadPoolExecutor

log = logging.getLogger(__name__)

_CHECKPOINT_S = 1.0
"""How long to wait at least between two checkpoints."""


class Checkpoints:
    """Moves what was committed from the write-ahead log to the database, beside the commits:
    whoever commits waits for its own pages, and not for everybody's of the last second."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="sqlite-checkpoints")
        self._db = db
        self._last: Future[None] | None = None
        self._not_before = 0.0

    def soon(self) -> None:
        now = time.monotonic()
        if now < self._not_before or (self._last is not None and not self._last.done()):
            return
        self._not_before = now + _CHECKPOINT_S
        self._last = self._pool.submit(self._run)

    def _run(self) -> None:
        try:
            self._db.execute("pragma wal_checkpoint(passive)").fetchone()
        except sqlite3.Error as error:
            log.warning("the write-ahead log stays as it is for now: %s", error)

    def close(self) -> None:
        self._pool.shutdown(wait=True)
        self._db.close()

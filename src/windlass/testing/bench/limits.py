"""The machine's own limits: what the bare database and bare Python do, measured in the same run.

Every figure of ours is also given as a ratio to these, since machines differ and are noisy. Ours
are made of both: neighbours that take a machine's caches slow Python down more than SQLite.
"""

import asyncio
import sqlite3
import tempfile
import time
from pathlib import Path

import asyncpg
import msgspec

ROWS = 100
ROWS_A_TASK = 8
"""What a task of a plain flow writes, from being made to being over."""
_BATCHES = 60
_COMMITS = 200
_SCHEMA = "create table bench (id text primary key, a text, b text, c bigint, d bigint, e text)"


class _Row(msgspec.Struct, frozen=True):
    id: str
    state: str
    number: int
    payload: str


_TURNS = 150
_PIECES = 200


def python_limits() -> dict[str, float]:
    """How often a second plain Python does a piece of work of the size of a task's decisions."""
    began = time.perf_counter()
    for piece in range(_PIECES):
        rows: dict[str, _Row] = {}
        for turn in range(_TURNS):
            row = _Row(f"{piece:08}~node.{turn}", "queued", turn, "{}")
            rows[row.id] = msgspec.structs.replace(row, state="running", number=row.number + 1)
        for row in sorted(rows.values(), key=lambda row: (row.state, row.id)):
            msgspec.json.decode(msgspec.json.encode(row), type=_Row)
    return {"python_s": _PIECES / (time.perf_counter() - began)}


def sqlite_limits() -> dict[str, float]:
    """Rows a second when 100 are inserted and updated in each synced transaction; commits alone."""
    with tempfile.TemporaryDirectory() as folder:
        db = sqlite3.connect(Path(folder) / "limit.db", isolation_level=None)
        try:
            db.execute("pragma journal_mode = wal")
            db.execute("pragma synchronous = full")
            db.execute(_SCHEMA)
            began = time.perf_counter()
            for batch in range(_BATCHES):
                keys = [f"{batch:08}-{row:04}" for row in range(ROWS)]
                db.execute("begin immediate")
                db.executemany(
                    "insert into bench values (?, ?, ?, ?, ?, ?)",
                    [(key, "state", "x" * 200, 1, 2, "y") for key in keys],
                )
                db.executemany(
                    "update bench set a = ?, c = ? where id = ?", [("done", 3, k) for k in keys]
                )
                db.execute("commit")
            rows = 2 * ROWS * _BATCHES / (time.perf_counter() - began)
            began = time.perf_counter()
            for number in range(_COMMITS):
                db.execute("insert into bench values (?, 'a', 'b', 1, 2, 'c')", (f"c{number}",))
            return {"rows_s": rows, "commits_s": _COMMITS / (time.perf_counter() - began)}
        finally:
            db.close()


def postgres_limits(url: str) -> dict[str, float]:
    return asyncio.run(_postgres_limits(url))


async def _postgres_limits(url: str) -> dict[str, float]:
    db = await asyncpg.connect(url)
    try:
        await db.execute("set enable_hashjoin = off; set enable_mergejoin = off")
        await db.execute("set enable_seqscan = off; set plan_cache_mode = force_generic_plan")
        await db.execute(f"drop table if exists bench; {_SCHEMA}")
        insert = (
            "insert into bench select * from unnest($1::text[], $2::text[], $3::text[],"
            " $4::bigint[], $5::bigint[], $6::text[])"
        )
        update = (
            "update bench b set a = u.a, c = u.c from unnest($1::text[], $2::text[],"
            " $3::bigint[]) as u(id, a, c) where b.id = u.id"
        )
        began = time.perf_counter()
        for batch in range(_BATCHES):
            keys = [f"{batch:08}-{row:04}" for row in range(ROWS)]
            async with db.transaction():
                texts = [["state"] * ROWS, ["x" * 200] * ROWS]
                await db.execute(insert, keys, *texts, [1] * ROWS, [2] * ROWS, ["y"] * ROWS)
                await db.execute(update, keys, ["done"] * ROWS, [3] * ROWS)
        rows = 2 * ROWS * _BATCHES / (time.perf_counter() - began)
        began = time.perf_counter()
        for number in range(_COMMITS):
            await db.execute("insert into bench values ($1, 'a', 'b', 1, 2, 'c')", f"c{number}")
        commits = _COMMITS / (time.perf_counter() - began)
        await db.execute("drop table bench")
        return {"rows_s": rows, "commits_s": commits}
    finally:
        await db.close()

"""Brings an SQLite file to the newest schema, under its write lock, while servers run."""

import secrets
import sqlite3
import time

from windlass.drivers.sql.migrate import FIRST_RECORDED, OLDEST, Found
from windlass.drivers.sql.queries import load_migrations

WORDS = {"id": "text", "clustered": "without rowid"}


def migrate(path: str) -> list[str]:
    """Apply what is missing; returns the names of the migrations that ran."""
    db = sqlite3.connect(path, isolation_level=None, timeout=60)
    try:
        db.execute("pragma journal_mode = wal")
        db.execute("begin immediate")
        done = found(db).newest
        missing = [m for m in load_migrations("sqlite", WORDS) if m.number > done]
        for migration in missing:
            for statement in split(migration.script):
                db.execute(statement)
            if migration.number >= FIRST_RECORDED:
                row = (migration.number, migration.name, time.time_ns() // 1_000_000)
                db.execute("insert into migrations values (?, ?, ?)", row)
        if missing:
            db.execute(f"pragma user_version = {OLDEST}")
            sql = "insert into meta (key, value) values ('secret', ?) on conflict do nothing"
            db.execute(sql, (secrets.token_hex(32),))
        db.execute("commit")
        return [migration.name for migration in missing]
    finally:
        db.close()


def found(db: sqlite3.Connection) -> Found:
    """Which migrations ran, and which programs may run."""
    oldest = int(db.execute("pragma user_version").fetchone()[0])
    recorded = "select count(*) from sqlite_master where type = 'table' and name = 'migrations'"
    if not db.execute(recorded).fetchone()[0]:
        return Found(oldest, oldest)
    newest = int(db.execute("select max(number) from migrations").fetchone()[0])
    return Found(newest, oldest)


def split(script: str) -> list[str]:
    """The statements of a script; a trigger's body keeps its semicolons."""
    statements: list[str] = []
    pending = ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            statements.append(pending)
            pending = ""
    return statements

"""Brings an SQLite file to the newest schema, under its write lock."""

import secrets
import sqlite3

from windlass.drivers.sql.queries import load_migrations

WORDS = {"id": "text", "clustered": "without rowid"}


def migrate(path: str) -> list[str]:
    """Apply what is missing; returns the names of the migrations that ran."""
    db = sqlite3.connect(path, isolation_level=None, timeout=60)
    try:
        db.execute("pragma journal_mode = wal")
        db.execute("begin immediate")
        done = int(db.execute("pragma user_version").fetchone()[0])
        ran: list[str] = []
        for migration in load_migrations("sqlite", WORDS):
            if migration.number > done:
                for statement in split(migration.script):
                    db.execute(statement)
                db.execute(f"pragma user_version = {migration.number}")
                ran.append(migration.name)
        sql = "insert into meta (key, value) values ('secret', ?) on conflict do nothing"
        db.execute(sql, (secrets.token_hex(32),))
        db.execute("commit")
        return ran
    finally:
        db.close()


def split(script: str) -> list[str]:
    """The statements of a script; a trigger's body keeps its semicolons."""
    found: list[str] = []
    pending = ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            found.append(pending)
            pending = ""
    return found

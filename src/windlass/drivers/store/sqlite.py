"""SQLite: one file, one writer, every commit synced to disk.

All writes go through a single thread with a single connection, so `database is locked` cannot come
from ourselves; another process that holds the file is waited for. Readers have connections of
their own and, in WAL mode, neither wait for the writer nor hold it up.
"""

import asyncio
import contextlib
import logging
import sqlite3
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial
from typing import Any, Self, TypeVar, cast

import msgspec

from windlass.drivers.sql import statements
from windlass.drivers.sql.checkpoints import Checkpoints
from windlass.drivers.sql.chunks import insert_rows, update_rows
from windlass.drivers.sql.clock import SteadyClock
from windlass.drivers.sql.migrate import check_schema
from windlass.drivers.sql.migrate_sqlite import found
from windlass.drivers.sql.queries import QUEUES_EACH, listed, load_queries
from windlass.drivers.sql.tables import (
    Differing,
    below,
    columns,
    differing,
    from_tuples,
    key_tuple,
    to_tuple,
)
from windlass.drivers.sql.work_thread import WorkThread
from windlass.model.effects import Effect
from windlass.model.errors import BadRequest, Unavailable
from windlass.model.rows import BranchResult, Event, Row, Run, Task, Variable
from windlass.model.states import TaskState
from windlass.ports.store import Cond, EffectClaim, Raced, Taken, Writes

log = logging.getLogger(__name__)

_LOOK_S = 0.1
_WORDS = {"skip_locked": "", "bytewise": ""}
"""How often it is asked whether another process has written to the file."""

R = TypeVar("R", bound=Row)
T = TypeVar("T")


def connect(path: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path, isolation_level=None, check_same_thread=False, cached_statements=512
    )
    connection.execute("pragma journal_mode = wal")
    connection.execute("pragma synchronous = full")
    connection.execute("pragma busy_timeout = 30000")
    connection.execute("pragma cache_size = -16000")
    # More than the checkpoints beside the commits leave: only where those cannot keep up.
    connection.execute("pragma wal_autocheckpoint = 8000")
    connection.execute("pragma case_sensitive_like = on")  # as PostgreSQL does
    return connection


class SqliteStore:
    """A store in one SQLite file."""

    announces = False

    def __init__(self, path: str, clock: Callable[[], int] | None = None) -> None:
        self._path = path
        self._clock = SteadyClock(clock)
        self._queries = {name: listed(sql) for name, sql in load_queries(_WORDS).items()}
        self._write = connect(path)
        check_schema(found(self._write))
        self._writer = WorkThread("sqlite-writer")
        self._reader = WorkThread("sqlite-reader")
        self._read = connect(path)
        self._read.execute("pragma query_only = on")
        self._checkpoints = Checkpoints(
            path, connect(path), lambda work: self._writer.submit(partial(work, self._write))
        )
        self._clock.not_before(self._read.execute(self._queries["newest_time"]).fetchone()[0])
        self._closed = asyncio.Event()
        self._data_version: int | None = None

    def now(self) -> int:
        return self._clock.now()

    def session(self) -> "SqliteSession":
        return SqliteSession(self)

    async def query(self, name: str, **params: Any) -> list[dict[str, Any]]:
        def read() -> list[dict[str, Any]]:
            cursor = self._read.execute(self._queries[name], _plain(params))
            names = [item[0] for item in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

        return await self._on(self._reader, read)

    async def page(
        self,
        table: type[R],
        where: Sequence[Cond] = (),
        *,
        order: str = "id",
        descending: bool = False,
        limit: int = 100,
        offset: int = 0,
        heavy: bool = True,
    ) -> list[R]:
        values, parameter, any_of = _parameters(table)
        tail = (order, descending, limit, offset)
        sql = statements.listing(table, where, tail, parameter, any_of, heavy=heavy)
        return from_tuples(table, await self._fetch(sql, values))

    async def count(self, table: type[R], where: Sequence[Cond] = ()) -> int:
        values, parameter, any_of = _parameters(table)
        clause = statements.conditions(table, where, parameter, any_of)
        rows = await self._fetch(f"select count(*) from {table.TABLE}{clause}", values)
        return int(rows[0][0])

    async def _fetch(self, sql: str, values: list[Any]) -> list[Any]:
        return await self._on(self._reader, lambda: self._read.execute(sql, values).fetchall())

    async def renew(
        self, attempts: Sequence[str], lease_until: int, worker_id: str = ""
    ) -> dict[str, bool]:
        sql = (
            "update attempts set lease_until = max(lease_until, ?)"
            " where id = ? and state in ('claimed', 'running') and ? in ('', worker_id)"
            " and lease_until > ? returning cancel_at"
        )
        now = self.now()

        def write() -> dict[str, bool]:
            held: dict[str, bool] = {}
            with transaction(self._write):
                for attempt in attempts:
                    values = (lease_until, attempt, worker_id, now)
                    for (cancel_at,) in self._write.execute(sql, values).fetchall():
                        held[attempt] = cancel_at is not None
            return held

        return await self._on(self._writer, write)

    async def claim_effects(self, claim: EffectClaim) -> list[Effect]:
        sql = self.sql("claim_effects", Effect)
        params = _plain({**claim._asdict(), "looked_at": 10 * claim.count_max})

        def write(db: sqlite3.Connection) -> list[Any]:
            with transaction(db):
                return db.execute(sql, params).fetchall()

        return from_tuples(Effect, await self.write(write))

    async def end_effects(self, ids: Sequence[str], holder: str) -> None:
        sql = self.sql("end_effects")
        params = _plain({"ids": list(ids), "holder": holder})
        await self.write(lambda db: db.execute(sql, params))

    async def secret(self) -> str:
        sql = "select value from meta where key = 'secret'"
        rows = await self._on(self._reader, lambda: self._read.execute(sql).fetchall())
        return str(rows[0][0])

    async def notices(self) -> list[str]:
        """An empty list once another process has committed something; nobody can tell what."""
        while not self._closed.is_set():
            # It counts the commits of all connections but the one that asks: ours writes.
            found = await self.write(lambda db: db.execute("pragma data_version").fetchone()[0])
            if self._data_version not in (None, found):
                self._data_version = found
                return []
            self._data_version = found
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_S):
                    await self._closed.wait()
        return []

    async def close(self) -> None:
        self._closed.set()
        self._checkpoints.close()
        self._writer.close()
        self._reader.close()
        self._read.close()
        self._write.close()

    async def _on(self, thread: WorkThread, work: Callable[[], T]) -> T:
        try:
            return await thread.do(work)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorname == "SQLITE_ERROR":
                raise  # a statement of ours is wrong, which no waiting mends
            log.warning("database %s: %s", self._path, error)
            raise Unavailable(f"the database does not answer: {error}") from error

    # The rest runs in the writer's thread, for sessions.

    async def save(self, writes: Writes, held: "Held") -> None:
        await self.write(lambda db: save(db, writes, held))
        self._checkpoints.soon()

    async def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        return await self._on(self._writer, lambda: work(self._write))

    def sql(self, name: str, table: type[Row] | None = None) -> str:
        text = self._queries[name]
        return text.replace("{columns}", ", ".join(columns(table))) if table else text


def _parameters(
    table: type[Row],
) -> tuple[list[Any], statements.Parameter, statements.AnyOf]:
    """Where values gather, and how a statement refers to them."""
    values: list[Any] = []

    def parameter(value: Any) -> str:
        values.append(_bind(value))
        return "?"

    def any_of(column: str, value: Any) -> str:
        return f"{column} in (select value from json_each({parameter(list(value))}))"

    return values, parameter, any_of


def _bind(value: Any) -> Any:
    return msgspec.json.encode(value).decode() if isinstance(value, list | tuple) else value


def _plain(params: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _bind(value) for name, value in params.items()}


@cache
def by_key(table: type[Row]) -> str:
    return f"{statements.select(table)} where {statements.by_key(table)}"


class SqliteSession:
    """Reads and one save on the writer's connection.

    Nothing is locked between the two: the save checks every changed run's `seq`, which is enough
    for a second process on the same file, and within this process the engine is the only writer.
    """

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self._held: dict[tuple[type[Row], Any], Row | None] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        """Nothing was begun: a save is a transaction of its own."""

    async def _find(self, table: type[R], name: str, **params: Any) -> list[R]:
        sql = self._store.sql(name, table)
        plain = _plain(params)
        rows = await self._store.write(lambda db: db.execute(sql, plain).fetchall())
        return from_tuples(table, rows)

    async def rows(self, table: type[R], keys: Sequence[Any]) -> list[R]:
        found = await self.rows_of({table: keys})
        return cast("list[R]", found[table])

    async def rows_of(
        self, wanted: Mapping[type[Row], Sequence[Any]]
    ) -> dict[type[Row], list[Row]]:
        def read(db: sqlite3.Connection) -> list[list[Any]]:
            return [
                [row for key in keys for row in db.execute(by_key(table), key_tuple(key))]
                for table, keys in wanted.items()
            ]

        found = await self._store.write(read)
        return {table: from_tuples(table, rows) for table, rows in zip(wanted, found, strict=True)}

    async def open_tasks(self, scopes: Sequence[str]) -> list[Task]:
        found: list[Task] = []
        for scope in scopes:
            found += await self._find(Task, "open_tasks", **below(scope))
        return found

    async def run_tasks(self, run_id: str) -> list[Task]:
        return await self._find(Task, "run_tasks", **below(run_id))

    async def waiting_tasks(self, run_id: str, key: str) -> list[Task]:
        return await self._find(Task, "waiting_tasks", run_id=run_id, key=key)

    async def ended_branches(self, container: str) -> list[BranchResult]:
        sql = self._store.sql("ended_branches")
        params = {**below(container), "container": container}
        rows = await self._store.write(lambda db: db.execute(sql, params).fetchall())
        return [BranchResult(row[0], TaskState(row[1]), row[2], row[3]) for row in rows]

    async def variables(self, scopes: Sequence[str]) -> list[Variable]:
        return await self._find(Variable, "scope_variables", scopes=list(scopes))

    async def signals(self, run_id: str) -> list[Event]:
        return await self._find(Event, "signals", run_id=run_id)

    async def lock_runs(self, run_ids: Sequence[str]) -> None:
        """Nothing to lock: there is one writer."""

    async def queued(self, wants: Mapping[str, int]) -> list[Task]:
        sql, names = self._store.sql("queued", Task), self._store.sql("queue_names")

        def read(db: sqlite3.Connection) -> list[Any]:
            rows: list[Any] = []
            there = set(wants)
            if len(wants) > QUEUES_EACH:
                there = {name for (name,) in db.execute(names)}
            for queue, count in wants.items():
                if queue in there:
                    rows += db.execute(sql, {"queue": queue, "count_max": count})
            return rows

        return from_tuples(Task, await self._store.write(read))

    async def parked(self, wants: Mapping[str, int]) -> list[Task]:
        found: list[Task] = []
        for limit, count in wants.items():
            found += await self._find(Task, "parked", limit=limit, count_max=count)
        return found

    async def hold(self, blanks: Sequence[R]) -> list[R]:
        table = type(blanks[0])
        stored = {row.pk: row for row in await self.rows(table, [row.pk for row in blanks])}
        self._held.update({(table, row.pk): stored.get(row.pk) for row in blanks})
        return [stored.get(row.pk, row) for row in blanks]

    async def save(self, writes: Writes) -> None:
        await self._store.save(writes, self._held)


Held = Mapping[tuple[type[Row], Any], Row | None]


def save(db: sqlite3.Connection, writes: Writes, held: Held | None = None) -> None:
    """Write everything, or raise and leave nothing behind."""
    try:
        with transaction(db):
            _check_held(db, held or {})
            _save(db, writes)
    except sqlite3.IntegrityError as error:
        if error.sqlite_errorname in ("SQLITE_CONSTRAINT_PRIMARYKEY", "SQLITE_CONSTRAINT_UNIQUE"):
            raise Taken(str(error)) from error
        raise
    except OverflowError as error:
        raise BadRequest(f"a number is too large to be stored: {error}") from error


@contextmanager
def transaction(db: sqlite3.Connection) -> Generator[None]:
    """A transaction that is gone, one way or the other, when the block ends."""
    db.execute("begin immediate")
    try:
        yield
        db.execute("commit")
    finally:
        if db.in_transaction:
            db.execute("rollback")


def _check_leases(db: sqlite3.Connection, writes: Writes) -> None:
    for attempt_id, now in writes.expired.items():
        renewed = "select 1 from attempts where id = ? and lease_until > ?"
        if db.execute(renewed, (attempt_id, now)).fetchone():
            raise Raced(f"the lease of attempt {attempt_id} was renewed")


def _check_standing(db: sqlite3.Connection, writes: Writes) -> None:
    for table, rows in writes.stands.items():
        sql = by_key(table)
        for key, row in rows.items():
            if db.execute(sql, key_tuple(key)).fetchone() != to_tuple(row):
                raise Raced(f"a row of {table.TABLE} has changed since it was read")


def _check_held(db: sqlite3.Connection, held: Held) -> None:
    for (table, key), row in held.items():
        sql = by_key(table)
        found = db.execute(sql, key_tuple(key)).fetchone()
        if found != (None if row is None else to_tuple(row)):
            raise Raced(f"a row of {table.TABLE} has changed since it was held")


def _save(db: sqlite3.Connection, writes: Writes) -> None:
    _check_leases(db, writes)
    _check_standing(db, writes)
    for table, keys in writes.removed.items():
        db.executemany(statements.delete(table), map(key_tuple, keys))
    for table, rows in writes.changed.items():
        for change, values in _updates(table, rows, writes):
            if update_rows(db, change, values) != len(values):
                raise Raced(f"a row of {table.TABLE} has changed or is gone")
    for table, rows in writes.made.items():
        if rows:
            insert_rows(db, table, list(map(to_tuple, rows.values())))


def _updates(
    table: type[Row], rows: Mapping[Any, Row], writes: Writes
) -> list[tuple[Differing, list[tuple[Any, ...]]]]:
    """Updates of a table, for each set of columns that really differ.

    SQLite takes a row out of every index on a column an update names and puts it back, whether or
    not the value is another; most updates leave the state, and so the indexes, as they are.
    """
    was = writes.was.get(table, {})
    grouped: dict[Differing, list[tuple[Any, ...]]] = {}
    for key, row in rows.items():
        change = differing(table, was.get(key), row)
        picked = change.take(to_tuple(row))
        if table is Run:
            picked = (*picked, writes.seqs[key])
        grouped.setdefault(change, []).append(picked)
    return list(grouped.items())

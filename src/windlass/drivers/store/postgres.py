"""PostgreSQL: many processes on one database.

A save is one statement: every table's rows arrive as arrays, each table is one branch of a `with`,
and the last line counts the rows that were really changed. One round trip, and outside an explicit
transaction one commit. Plans must not depend on statistics, which a young table does not have, so
connections turn off every join and scan that is not by index.
"""

import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import asyncpg

from windlass.drivers.sql import statements
from windlass.drivers.sql.bulk import Saving
from windlass.drivers.sql.clock import SteadyClock
from windlass.drivers.sql.listener import Listener
from windlass.drivers.sql.migrate import check_schema
from windlass.drivers.sql.migrate_postgres import RELEASE, found
from windlass.drivers.sql.postgres_errors import LOST, kept_whole, told
from windlass.drivers.sql.queries import QUEUES_EACH, load_queries, positional
from windlass.drivers.sql.tables import (
    below,
    columns,
    from_tuples,
    is_number,
    key_tuple,
    to_tuple,
)
from windlass.drivers.sql.walks import BYTEWISE
from windlass.model.effects import Effect
from windlass.model.errors import Unavailable
from windlass.model.rows import BranchResult, Event, Row, Task, Variable
from windlass.model.states import TaskState
from windlass.ports.store import Cond, EffectClaim, Raced, Writes

R = TypeVar("R", bound=Row)
Connection = Any
"""A pool's connection; asyncpg's own type does not say so."""

SETTINGS = {
    "application_name": "windlass",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "enable_seqscan": "off",
    "jit": "off",
    "plan_cache_mode": "force_generic_plan",
    "search_path": f"{RELEASE}, public",
}
_SYNC_S = 30.0
_HOLD_TRIES = 5
_WORDS = {"skip_locked": "for update skip locked", "bytewise": BYTEWISE}
"""Between looking for a row and making it, somebody may have made and removed it."""


if TYPE_CHECKING:
    PlainConnection = asyncpg.Connection[asyncpg.Record]
else:  # generic in its stubs only
    PlainConnection = asyncpg.Connection


class Unreset(PlainConnection):
    """A connection that needs no resetting: our statements leave nothing behind in it."""

    def get_reset_query(self) -> str:
        return ""


class PostgresStore:
    """A store in one PostgreSQL database; open it with `PostgresStore.open`."""

    announces = True

    def __init__(self, url: str, pool: "asyncpg.Pool[asyncpg.Record]") -> None:
        self._url = url
        self.pool = pool
        self._own: PlainConnection | None = None
        """The connection of sessions. Passes come one after the other, and what a pool does for
        each of them costs more than to decide a job."""
        self._in_session = False
        self._closed = False
        self._synced = (0.0, 0.0)
        self._clock = SteadyClock(self._database_ms)
        self.listener = Listener(self._connect, self._fetch_one)
        self._queries = {name: positional(sql) for name, sql in load_queries(_WORDS).items()}

    @classmethod
    async def open(cls, url: str, pool_size: int = 8) -> "PostgresStore":
        try:
            pool = await asyncpg.create_pool(
                url,
                min_size=1,
                max_size=pool_size,
                server_settings=SETTINGS,
                command_timeout=60,
                connection_class=Unreset,
            )
        except LOST as error:
            raise Unavailable(f"cannot reach PostgreSQL: {error}") from error
        store = cls(url, pool)
        async with store.connection() as connection:
            check_schema(await found(connection))
            await store.sync_clock(connection)
        return store

    @asynccontextmanager
    async def connection(self) -> AsyncGenerator[Connection]:
        """A pooled connection, with its errors told in the store's words."""
        with told():
            async with self.pool.acquire() as connection:
                yield connection

    @asynccontextmanager
    async def _connection_of_session(self) -> AsyncGenerator[Connection]:
        """The connection of sessions, or one of the pool while another session has it."""
        if self._in_session or self._closed:
            async with self.connection() as connection:
                yield connection
            return
        self._in_session = True
        try:
            with told():
                if self._own is None or self._own.is_closed():
                    self._own = await asyncpg.connect(
                        self._url, server_settings=SETTINGS, command_timeout=60
                    )
                with kept_whole(self._own):
                    yield self._own
        finally:
            self._in_session = False

    # Time

    async def sync_clock(self, connection: Connection) -> None:
        """Take the database's time; between readings a monotonic clock carries it on."""
        began = time.monotonic()
        seconds = await connection.fetchval("select extract(epoch from clock_timestamp())::float8")
        ended = time.monotonic()
        self._synced = ((began + ended) / 2, float(seconds))
        self._clock.now()
        # All processes take the newest time that any of them wrote for granted, so that those
        # that went on after the clock was set back and those that began since agree.
        newest, _ = self.sql("newest_time")
        self._clock.not_before(await connection.fetchval(newest))

    def _database_ms(self) -> int:
        at, seconds = self._synced
        return int((seconds + time.monotonic() - at) * 1000)

    def now(self) -> int:
        return self._clock.now()

    # Reading and saving

    @asynccontextmanager
    async def session(self) -> AsyncGenerator["PostgresSession"]:
        async with self._connection_of_session() as connection:
            session = PostgresSession(self, connection)
            try:
                yield session
            finally:
                await session.end()

    def sql(self, name: str, table: type[Row] | None = None) -> tuple[str, tuple[str, ...]]:
        sql, names = self._queries[name]
        if table is not None:
            sql = sql.replace("{columns}", ", ".join(columns(table)))
        return sql, names

    async def query(self, name: str, **params: Any) -> list[dict[str, Any]]:
        sql, names = self.sql(name)
        async with self.connection() as connection:
            rows = await connection.fetch(sql, *(params[n] for n in names))
        return [dict(row) for row in rows]

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
        sql = statements.listing(
            table, where, tail, parameter, any_of, heavy=heavy, bytewise=BYTEWISE
        )
        async with self.connection() as connection:
            rows = await connection.fetch(sql, *values)
        return from_tuples(table, rows)

    async def count(self, table: type[R], where: Sequence[Cond] = ()) -> int:
        values, parameter, any_of = _parameters(table)
        clause = statements.conditions(table, where, parameter, any_of)
        async with self.connection() as connection:
            sql = f"select count(*) from {table.TABLE}{clause}"
            return int(await connection.fetchval(sql, *values))

    async def renew(
        self, attempts: Sequence[str], lease_until: int, worker_id: str = ""
    ) -> dict[str, bool]:
        sql = (
            "with held as (select id from attempts where id = any($1::text[])"
            " and state in ('claimed', 'running') and $3 in ('', worker_id)"
            " and lease_until > $4 for update skip locked),"
            " renewed as (update attempts a set lease_until = greatest(a.lease_until, $2)"
            " from held where a.id = held.id)"
            " select id, cancel_at from attempts where id = any($1::text[])"
            " and state in ('claimed', 'running') and $3 in ('', worker_id)"
            " and lease_until > $4"
        )
        # A row that a save holds at this moment is not waited for, which could end in a deadlock:
        # it is reported as it stands and renewed next time, long before its lease runs out.
        async with self.connection() as connection:
            rows = await connection.fetch(sql, list(attempts), lease_until, worker_id, self.now())
        return {row["id"]: row["cancel_at"] is not None for row in rows}

    async def claim_effects(self, claim: EffectClaim) -> list[Effect]:
        sql, names = self.sql("claim_effects", Effect)
        params = {**claim._asdict(), "looked_at": 10 * claim.count_max}
        async with self.connection() as connection:
            rows = await connection.fetch(sql, *(params[name] for name in names))
        return from_tuples(Effect, rows)

    async def end_effects(self, ids: Sequence[str], holder: str) -> None:
        sql, names = self.sql("end_effects")
        params = {"ids": list(ids), "holder": holder}
        async with self.connection() as connection:
            await connection.execute(sql, *(params[name] for name in names))

    async def secret(self) -> str:
        async with self.connection() as connection:
            return str(await connection.fetchval("select value from meta where key = 'secret'"))

    # Other processes

    async def notices(self) -> list[str]:
        """What others announced; an empty list after a break, when much may have been missed."""
        async with self.connection() as connection:
            if time.monotonic() - self._synced[0] > _SYNC_S:
                await self.sync_clock(connection)
        try:
            return await self.listener.notices()
        except LOST as error:
            raise Unavailable(f"PostgreSQL: {error}") from error

    async def _connect(self) -> Connection:
        return await asyncpg.connect(self._url, server_settings=SETTINGS)

    async def _fetch_one(self, sql: str, *values: Any) -> Any:
        async with self.connection() as connection:
            return await connection.fetchval(sql, *values)

    async def close(self) -> None:
        await self.listener.close()
        self._closed = True
        if self._own is not None and self._in_session:
            self._own.terminate()
        elif self._own is not None:
            await self._own.close()
        await self.pool.close()


def _parameters(
    table: type[Row],
) -> tuple[list[Any], statements.Parameter, statements.AnyOf]:
    """Where values gather, and how a statement refers to them."""
    values: list[Any] = []

    def parameter(value: Any) -> str:
        values.append(value)
        return f"${len(values)}"

    def any_of(column: str, value: Any) -> str:
        kind = "bigint[]" if is_number(table, column) else "text[]"
        return f"{column} = any({parameter(list(value))}::{kind})"

    return values, parameter, any_of


def by_keys(table: type[Row], first: int) -> str:
    """The condition that a row has one of some keys, given as arrays from this parameter on."""
    kinds = ["bigint" if is_number(table, column) else "text" for column in table.KEY]
    marks = [f"${first + at}::{kind}[]" for at, kind in enumerate(kinds)]
    if len(marks) == 1:
        return f"{table.KEY[0]} = any({marks[0]})"
    return f"({', '.join(table.KEY)}) in (select * from unnest({', '.join(marks)}))"


def key_arrays(table: type[Row], keys: Sequence[Any]) -> list[list[Any]]:
    return [[key_tuple(key)[at] for key in keys] for at in range(len(table.KEY))]


class PostgresSession:
    """Reads and one save on one connection.

    Reads take no locks: the save finds out whether they were still true. Only claiming (`queued`)
    and the second try after a race (`lock_runs`) open a transaction and hold rows until the end.
    """

    def __init__(self, store: PostgresStore, connection: Connection) -> None:
        self._store = store
        self._connection = connection
        self._transaction: Any = None

    async def _begin(self) -> None:
        if self._transaction is None:
            self._transaction = self._connection.transaction()
            await self._transaction.start()

    async def end(self) -> None:
        if self._transaction is not None and not self._connection.is_closed():
            transaction, self._transaction = self._transaction, None
            await transaction.rollback()

    async def _find(self, table: type[R], name: str, **params: Any) -> list[R]:
        sql, names = self._store.sql(name, table)
        rows = await self._connection.fetch(sql, *(params[n] for n in names))
        return from_tuples(table, rows)

    async def rows(self, table: type[R], keys: Sequence[Any]) -> list[R]:
        return await self._rows(table, keys)

    async def _rows(self, table: type[R], keys: Sequence[Any], lock: str = "") -> list[R]:
        if not (keys := [key for key in keys if statements.may_exist(key)]):
            return []
        sql = f"{statements.select(table)} where {by_keys(table, 1)}{lock}"
        return from_tuples(table, await self._connection.fetch(sql, *key_arrays(table, keys)))

    async def rows_of(
        self, wanted: Mapping[type[Row], Sequence[Any]]
    ) -> dict[type[Row], list[Row]]:
        parts: list[str] = []
        values: list[list[Any]] = []
        for table, some in wanted.items():
            keys = [key for key in some if statements.may_exist(key)]
            where = by_keys(table, len(values) + 1)
            parts.append(f"array(select r from {table.TABLE} r where {where})")
            values += key_arrays(table, keys)
        # One statement, and so one moment: no table is read before another.
        [found] = await self._connection.fetch(f"select {', '.join(parts)}", *values)
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
        sql, names = self._store.sql("ended_branches")
        params = {**below(container), "container": container}
        rows = await self._connection.fetch(sql, *(params[n] for n in names))
        return [BranchResult(row[0], TaskState(row[1]), row[2], row[3]) for row in rows]

    async def variables(self, scopes: Sequence[str]) -> list[Variable]:
        return await self._find(Variable, "scope_variables", scopes=list(scopes))

    async def signals(self, run_id: str) -> list[Event]:
        return await self._find(Event, "signals", run_id=run_id)

    async def lock_runs(self, run_ids: Sequence[str]) -> None:
        await self._begin()
        sql, _ = self._store.sql("lock_runs")
        await self._connection.fetch(sql, list(run_ids))

    async def queued(self, wants: Mapping[str, int]) -> list[Task]:
        await self._begin()
        found: list[Task] = []
        there = set(wants)
        if len(wants) > QUEUES_EACH:
            names, _ = self._store.sql("queue_names")
            there = {row["queue"] for row in await self._connection.fetch(names)}
        for queue, count in wants.items():
            if queue not in there:
                continue
            found += await self._find(Task, "queued", queue=queue, count_max=count)
        return found

    async def parked(self, wants: Mapping[str, int]) -> list[Task]:
        sql, names = self._store.sql("parked_each", Task)
        params = {"limits": list(wants), "counts": list(wants.values())}
        rows = await self._connection.fetch(sql, *(params[name] for name in names))
        return from_tuples(Task, rows)

    async def hold(self, blanks: Sequence[R]) -> list[R]:
        await self._begin()
        table = type(blanks[0])
        wanted = {row.pk: row for row in blanks}
        order = f" order by {', '.join(table.KEY)} for update"
        for _ in range(_HOLD_TRIES):
            # In key order, so that two sessions never wait for each other crosswise.
            found = {row.pk: row for row in await self._rows(table, sorted(wanted), order)}
            if len(found) == len(wanted):
                return [found[row.pk] for row in blanks]
            missing = [to_tuple(wanted[key]) for key in sorted(wanted.keys() - found.keys())]
            # Rows that are not there cannot be locked; whoever makes them first has them.
            await self._connection.execute(
                f"insert into {table.TABLE} select * from unnest($1::{table.TABLE}[])"
                " on conflict do nothing",
                missing,
            )
        raise Raced(f"rows of {table.TABLE} come and go")

    async def _check_leases(self, expired: Mapping[str, int]) -> None:
        """Nobody can renew these leases from here on, and nobody has since they were read."""
        await self._begin()
        sql, _ = self._store.sql("lock_leases")
        for row in await self._connection.fetch(sql, list(expired)):
            if row["lease_until"] > expired[row["id"]]:
                raise Raced(f"the lease of attempt {row['id']} was renewed")

    async def _check_standing(self, table: type[Row], rows: Mapping[Any, Row]) -> None:
        await self._begin()
        found = {row.pk: row for row in await self._rows(table, sorted(rows), " for update")}
        if found != rows:
            raise Raced(f"a row of {table.TABLE} has changed since it was read")

    async def save(self, writes: Writes) -> None:
        if writes.expired:
            await self._check_leases(writes.expired)
        for table, rows in writes.stands.items():
            await self._check_standing(table, rows)
        saving = Saving(writes)
        with self._store.listener.announced(writes.notices) as notices:
            await self._connection.fetchval(saving.sql(bool(notices)), *saving.values(notices))
            if self._transaction is not None:
                transaction, self._transaction = self._transaction, None
                await transaction.commit()

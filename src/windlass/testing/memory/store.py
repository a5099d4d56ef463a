"""One process's connection to a memory database: the `Store` port without a disk."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import islice
from typing import Any, Protocol, TypeVar

from msgspec.structs import replace

from windlass.drivers.sql.clock import SteadyClock
from windlass.model.effects import Effect
from windlass.model.errors import Unavailable
from windlass.model.ids import run_of
from windlass.model.rows import BranchResult, Event, Row, Run, Task, Variable
from windlass.model.states import TASK_ENDED
from windlass.ports.store import Cond, EffectClaim, Raced, Writes
from windlass.testing.memory.database import MemoryDatabase
from windlass.testing.memory.queries import QUERIES, listed, meets

R = TypeVar("R", bound=Row)


class CommitsLater(Unavailable):
    """The connection broke while the commit was on its way; `landed` is done once it is there, or
    was refused."""

    def __init__(self, what: str, retry_after_s: float, landed: "asyncio.Future[None]") -> None:
        super().__init__(what, retry_after_s)
        self.landed = landed


class Around(Protocol):
    """What happens on the way to the database and back: a test may delay it or make it fail."""

    async def reading(self) -> None: ...

    async def saving(self, commit: Callable[[], None]) -> None:
        """Call `commit` once, or raise instead, or raise all the same."""
        ...


class MemoryStore:
    """A store in memory. Several may share one database, as processes do."""

    announces = True

    def __init__(
        self,
        database: MemoryDatabase,
        name: str = "memory",
        *,
        around: Around | None = None,
        row_locks: bool = True,
        skew_ms: int = 0,
    ) -> None:
        self.database = database
        self.name = name
        self.around = around
        self.row_locks = row_locks
        self._skew_ms = skew_ms
        # As in the databases: a clock that is set back is not waited for, nor is one that was.
        self._clock = SteadyClock(lambda: database.clock() + self._skew_ms, database.clock)
        self._clock.not_before(database.newest_time())
        self._sessions: dict[MemorySession, None] = {}
        self._heard: list[str] = []
        self._news = asyncio.Event()
        database.ears.append(self._hear)

    def now(self) -> int:
        return self._clock.now()

    def set_clock_back(self, by_ms: int) -> None:
        self._skew_ms -= by_ms

    @asynccontextmanager
    async def session(self) -> AsyncGenerator["MemorySession"]:
        session = MemorySession(self)
        self._sessions[session] = None
        try:
            yield session
        finally:
            self.end(session)

    def end(self, session: "MemorySession") -> None:
        self._sessions.pop(session, None)
        self.database.locks.release(session)

    async def reading(self) -> None:
        if self.around is not None:
            await self.around.reading()

    async def query(self, name: str, **params: Any) -> list[dict[str, Any]]:
        await self.reading()
        return QUERIES[name](self.database, **params)

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
        await self.reading()
        rows = list(self.database.table(table).values())
        found = listed(rows, where, order, descending)[offset : offset + limit]
        if heavy or not table.HEAVY:
            return found
        light = {
            name: None if sql == "null" else sql.strip("'") for name, sql in table.HEAVY.items()
        }
        return [replace(row, **light) for row in found]

    async def count(self, table: type[R], where: Sequence[Cond] = ()) -> int:
        await self.reading()
        return sum(meets(row, where) for row in self.database.table(table).values())

    async def renew(
        self, attempts: Sequence[str], lease_until: int, worker_id: str = ""
    ) -> dict[str, bool]:
        await self.reading()
        held: dict[str, bool] = {}
        for attempt_id in attempts:
            asked = self.database.renew(attempt_id, lease_until, worker_id, now=self.now())
            if asked is not None:
                held[attempt_id] = asked
        return held

    async def claim_effects(self, claim: EffectClaim) -> list[Effect]:
        await self.reading()
        return self.database.claim_effects(claim)

    async def end_effects(self, ids: Sequence[str], holder: str) -> None:
        await self.reading()
        self.database.end_effects(ids, holder)

    async def secret(self) -> str:
        return self.database.secret

    def _hear(self, sender: str, notices: list[str]) -> None:
        if sender != self.name:
            self._heard += notices
            self._news.set()

    async def notices(self) -> list[str]:
        while not self._heard:
            self._news.clear()
            await self._news.wait()
        heard, self._heard = self._heard, []
        return heard

    async def close(self) -> None:
        self.drop()

    def drop(self) -> None:
        """The connection is gone, and with it every lock it held."""
        for session in list(self._sessions):
            self.end(session)
        if self._hear in self.database.ears:
            self.database.ears.remove(self._hear)


class MemorySession:
    """Reads of committed rows, and one save."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._db = store.database
        self._held: dict[tuple[type[Row], Any], Row | None] = {}

    async def rows(self, table: type[R], keys: Sequence[Any]) -> list[R]:
        await self._store.reading()
        rows = self._db.table(table)
        return [rows[key] for key in keys if key in rows]

    async def rows_of(
        self, wanted: Mapping[type[Row], Sequence[Any]]
    ) -> dict[type[Row], list[Row]]:
        return {table: list(await self.rows(table, keys)) for table, keys in wanted.items()}

    async def open_tasks(self, scopes: Sequence[str]) -> list[Task]:
        await self._store.reading()
        return [
            task for scope in scopes for task in self._below(scope) if task.state not in TASK_ENDED
        ]

    def _below(self, scope: str) -> list[Task]:
        prefix = f"{scope}~"
        tasks = self._db.of_run(Task, run_of(scope))
        return [task for task in tasks if task.id.startswith(prefix)]

    async def run_tasks(self, run_id: str) -> list[Task]:
        await self._store.reading()
        return sorted(self._below(run_id), key=lambda task: (task.made_seq, task.id))

    async def waiting_tasks(self, run_id: str, key: str) -> list[Task]:
        await self._store.reading()
        return [task for task in self._db.of_run(Task, run_id) if task.wait_key == key]

    async def ended_branches(self, container: str) -> list[BranchResult]:
        await self._store.reading()
        return sorted(
            BranchResult(task.idx, task.state, task.output, task.error)
            for task in self._below(container)
            if task.scope == container
        )

    async def variables(self, scopes: Sequence[str]) -> list[Variable]:
        await self._store.reading()
        rows = (row for scope in scopes for row in self._db.of_run(Variable, run_of(scope)))
        return sorted({row.pk: row for row in rows if row.scope in scopes}.values(), key=_key)

    async def signals(self, run_id: str) -> list[Event]:
        await self._store.reading()
        events = self._db.of_run(Event, run_id)
        found = [event for event in events if event.type == "signal.received"]
        return sorted(found, key=lambda event: event.seq)

    async def lock_runs(self, run_ids: Sequence[str]) -> None:
        await self._store.reading()
        if self._store.row_locks:
            await self._db.locks.take(self, [(Run, run_id) for run_id in sorted(run_ids)])

    async def queued(self, wants: Mapping[str, int]) -> list[Task]:
        await self._store.reading()
        found: list[Task] = []
        for queue, count in wants.items():
            waiting = sorted(self._db.queued(queue), key=_turn)
            free = (task for task in waiting if self._free(task))
            found += islice(free, count)
        return found

    async def parked(self, wants: Mapping[str, int]) -> list[Task]:
        await self._store.reading()
        found: list[Task] = []
        for limit, count in wants.items():
            found += sorted(self._db.parked(limit), key=_turn)[:count]
        return found

    async def hold(self, blanks: Sequence[R]) -> list[R]:
        await self._store.reading()
        # A commit keeps its rows locked until it has landed, whoever is still there to hear of it.
        while late := self._db.on_their_way():
            await asyncio.wait(late)
        table = type(blanks[0])
        keys = sorted(row.pk for row in blanks)
        if self._store.row_locks:
            await self._db.locks.take(self, [(table, key) for key in keys])
        rows = self._db.table(table)
        self._held.update({(table, key): rows.get(key) for key in keys})
        return [rows.get(row.pk, row) for row in blanks]

    def _commit(self, writes: Writes) -> None:
        for (table, key), row in self._held.items():
            if self._db.table(table).get(key) != row:
                raise Raced(f"a row of {table.TABLE} has changed since it was held")
        self._db.commit(writes, self._store.name)

    def _free(self, task: Task) -> bool:
        """Whether no other session is about to claim a task; it is ours from here on."""
        if not self._store.row_locks:
            return True
        return self._db.locks.try_take(self, (Task, task.id))

    async def save(self, writes: Writes) -> None:
        try:
            if self._store.row_locks:
                await self._db.locks.take(self, changed_keys(writes))
            if self._store.around is None:
                self._commit(writes)
            else:
                await self._store.around.saving(lambda: self._commit(writes))
        except CommitsLater as later:
            self._db.late.append(later.landed)
            raise
        finally:
            self._store.end(self)


def _key(row: Variable) -> tuple[str, str]:
    return row.scope, row.key


def _turn(task: Task) -> tuple[int, int, str]:
    """Who comes first of those that wait for the same."""
    return -task.priority, task.ready_at or 0, task.id


def changed_keys(writes: Writes) -> list[tuple[type[Row], Any]]:
    """The rows a save locks, runs first, in key order."""
    return [(table, key) for table in (Run, Task) for key in sorted(writes.changed.get(table, ()))]

"""The tables of a memory store: commits that apply as a whole or not at all.

The rules are those of the SQL schema. A changed run must still have the `seq` it was read at, a
new row must not exist yet, an end is final, and columns written once are never written again.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, NamedTuple, TypeVar, cast

from msgspec.structs import replace

from windlass.model.access import Token, User
from windlass.model.effects import Effect
from windlass.model.rows import Attempt, Row, Run, Task, Version, Worker
from windlass.model.states import ATTEMPT_LIVE, RUN_ENDED, TASK_ENDED
from windlass.ports.store import EffectClaim, Raced, Taken, Writes
from windlass.testing.memory.locks import RowLocks

R = TypeVar("R", bound=Row)

_UNIQUE: dict[type[Row], tuple[str, ...]] = {
    Version: ("flow_id", "number"),
    Token: ("hash",),
    User: ("username",),
}


class Refused(Exception):
    """A row breaks a rule of the schema; nothing was written."""


class Change(NamedTuple):
    """What a commit did to one row."""

    table: type[Row]
    key: Any
    old: Row | None
    new: Row | None


class Commit(NamedTuple):
    """One committed transaction: its number, its time, whose it was, what it changed."""

    number: int
    at: int
    by: str
    changes: tuple[Change, ...]


class MemoryDatabase:
    """All rows, shared by the stores that are its connections."""

    def __init__(self, clock: Callable[[], int], *, secret: str = "00" * 32) -> None:
        self.clock = clock
        self.secret = secret
        self.locks = RowLocks()
        self.commits = 0
        self.late: list[asyncio.Future[None]] = []
        """Commits that nobody waits for any more, and that were not there yet."""
        self.watchers: list[Callable[[Commit], None]] = []
        """Called after each commit, before its caller hears of it."""
        self.ears: list[Callable[[str, list[str]], None]] = []
        """Where notices go: (sender, notices)."""
        self._tables: dict[type[Row], dict[Any, Row]] = {}
        self._by_run: dict[type[Row], defaultdict[str, dict[Any, Row]]] = {}
        self._queued: defaultdict[str, dict[str, Task]] = defaultdict(dict)
        self._parked: defaultdict[str, dict[str, Task]] = defaultdict(dict)
        self._live: dict[str, Attempt] = {}

    def on_their_way(self) -> list[asyncio.Future[None]]:
        """Commits of processes that lost their connection, which have not landed yet."""
        self.late = [landed for landed in self.late if not landed.done()]
        return self.late

    # Reading

    def table(self, table: type[R]) -> dict[Any, R]:
        """All rows of a table by key."""
        return cast("dict[Any, R]", self._tables.setdefault(table, {}))

    def newest_time(self) -> int | None:
        """About when somebody last wrote something, as the databases' query of that name has it."""
        begun = (run.created_at for run in self.table(Run).values())
        heard = (worker.seen_at for worker in self.table(Worker).values())
        return max((*begun, *heard), default=None)

    def of_run(self, table: type[R], run_id: str) -> Iterable[R]:
        """The rows of a table that belong to a run."""
        rows = self._by_run.get(table)
        return cast("Iterable[R]", rows[run_id].values() if rows and run_id in rows else ())

    def queued(self, queue: str) -> Iterable[Task]:
        return self._queued[queue].values() if queue in self._queued else ()

    def parked(self, limit: str) -> Iterable[Task]:
        return self._parked[limit].values() if limit in self._parked else ()

    @property
    def queues(self) -> Iterable[str]:
        return [queue for queue, tasks in self._queued.items() if tasks]

    @property
    def live_attempts(self) -> Iterable[Attempt]:
        return self._live.values()

    # Writing

    def commit(self, writes: Writes, by: str) -> None:
        """Apply everything, or raise and apply nothing."""
        staged = self.stage(writes)
        for attempt_id, now in writes.expired.items():
            attempt = self._live.get(attempt_id)
            if attempt is not None and attempt.lease_until > now:
                raise Raced(f"the lease of attempt {attempt_id} was renewed")
        for guarded, rows in writes.stands.items():
            for key, row in rows.items():
                if self.table(guarded).get(key) != row:
                    raise Raced(f"a row of {guarded.TABLE} has changed since it was read")
        for table, key in staged:
            old, new = staged[table, key]
            check_unique(self.table(table), table, key, new)
            if old is not None and new is not None:
                check_ends(old, new)
            if new is not None:
                check_values(new)
        self.apply(staged, by)
        if writes.notices:
            for ear in self.ears:
                ear(by, writes.notices)

    def stage(self, writes: Writes) -> dict[tuple[type[Row], Any], tuple[Row | None, Row | None]]:
        """Old and new row of every key the writes touch."""
        staged: dict[tuple[type[Row], Any], tuple[Row | None, Row | None]] = {}
        for table, keys in writes.removed.items():
            rows = self.table(table)
            for key in keys:
                if key in rows:
                    staged[table, key] = rows[key], None
        for table, changed in writes.changed.items():
            rows = self.table(table)
            for key, row in changed.items():
                old = rows.get(key)
                if old is None or (table, key) in staged:
                    raise Raced(f"a row of {table.TABLE} is gone: {key}")
                self.check_seq(table, key, old, writes)
                staged[table, key] = old, kept_fixed(old, row)
        for table, made in writes.made.items():
            rows = self.table(table)
            for key, row in made.items():
                old, now = staged.get((table, key), (rows.get(key), rows.get(key)))
                if now is not None:
                    if not table.UPSERT:
                        raise Taken(f"a row of {table.TABLE} exists already: {key}")
                    row = kept_fixed(now, row)
                staged[table, key] = old, row
        return staged

    def check_seq(self, table: type[Row], key: Any, old: Row, writes: Writes) -> None:
        if table is Run and cast(Run, old).seq != writes.seqs[key]:
            raise Raced(f"run {key} has moved on")

    def apply(
        self, staged: dict[tuple[type[Row], Any], tuple[Row | None, Row | None]], by: str
    ) -> None:
        changes = tuple(Change(table, key, *rows) for (table, key), rows in staged.items())
        for change in changes:
            self._put(change)
        self.commits += 1
        commit = Commit(self.commits, self.clock(), by, changes)
        for watcher in self.watchers:
            watcher(commit)

    def _put(self, change: Change) -> None:
        table, key, old, new = change
        rows = self._tables.setdefault(table, {})
        if new is None:
            rows.pop(key, None)
        else:
            rows[key] = new
        run_id: str | None = getattr(new or old, "run_id", None)
        if run_id is not None:
            of_run = self._by_run.setdefault(table, defaultdict(dict))[run_id]
            if new is None:
                of_run.pop(key, None)
            else:
                of_run[key] = new
        if table is Task:
            self._index_task(cast("Task | None", old), cast("Task | None", new))
        elif table is Attempt:
            attempt = cast("Attempt | None", new)
            if attempt is not None and attempt.state in ATTEMPT_LIVE:
                self._live[key] = attempt
            else:
                self._live.pop(key, None)

    def _index_task(self, old: Task | None, new: Task | None) -> None:
        if old is not None and old.queue is not None:
            self._queued[old.queue].pop(old.id, None)
        if old is not None and old.parked is not None:
            self._parked[old.parked].pop(old.id, None)
        if new is not None and new.parked is not None:
            self._parked[new.parked][new.id] = new
        if new is not None and new.queue is not None and new.claimable:
            self._queued[new.queue][new.id] = new

    def renew(
        self, attempt_id: str, lease_until: int, worker_id: str = "", *, now: int
    ) -> bool | None:
        """Extend a live attempt; tells whether it was asked to stop, None if it is not held."""
        attempt = self._live.get(attempt_id)
        if attempt is None or worker_id not in ("", attempt.worker_id):
            return None
        if attempt.lease_until <= now:
            return None
        new = replace(attempt, lease_until=max(attempt.lease_until, lease_until))
        self._put(Change(Attempt, attempt_id, attempt, new))
        return attempt.cancel_at is not None

    def claim_effects(self, claim: EffectClaim) -> list[Effect]:
        """Take effects that are due, of each run only so many."""
        due = [
            effect
            for effect in self.table(Effect).values()
            if effect.state == "waiting"
            and effect.address in claim.addresses
            and max(effect.due_at, effect.lease_until) <= claim.now
        ]
        due.sort(key=lambda effect: (effect.due_at, effect.id))
        taken: list[Effect] = []
        of_run: Counter[str] = Counter()
        for effect in due[: 10 * claim.count_max]:
            of_run[effect.run_id] += 1
            if of_run[effect.run_id] <= claim.each_max and len(taken) < claim.count_max:
                held = replace(
                    effect,
                    holder=claim.holder,
                    lease_until=claim.lease_until,
                    tries=effect.tries + 1,
                )
                self._put(Change(Effect, effect.id, effect, held))
                taken.append(held)
        return taken

    def end_effects(self, ids: Iterable[str], holder: str) -> None:
        for id_ in ids:
            effect = self.table(Effect).get(id_)
            if effect is not None and effect.holder == holder:
                self._put(Change(Effect, id_, effect, None))


@cache
def fixed(table: type[Row]) -> tuple[str, ...]:
    return tuple(sorted(table.FIXED))


def kept_fixed(old: Row, new: Row) -> Row:
    """The new row with the columns that are written only once as they were."""
    differing = {
        name: getattr(old, name)
        for name in fixed(type(old))
        if getattr(old, name) != getattr(new, name)
    }
    for name in type(old).LATE:
        if getattr(new, name) is None:
            differing[name] = getattr(old, name)
    return replace(new, **differing) if differing else new


def check_unique(rows: dict[Any, Row], table: type[Row], key: Any, new: Row | None) -> None:
    names = _UNIQUE.get(table)
    if names is None or new is None:
        return
    mine = [getattr(new, name) for name in names]
    for other, row in rows.items():
        if other != key and [getattr(row, name) for name in names] == mine:
            raise Taken(f"{table.TABLE} has a row with the same {' and '.join(names)}: {mine}")


def check_ends(old: Row, new: Row) -> None:
    """An end is final: leaving one takes a new generation."""
    if isinstance(old, Run | Task) and isinstance(new, Run | Task):
        ended = old.state in RUN_ENDED or old.state in TASK_ENDED
        if ended and new.state is not old.state and new.generation <= old.generation:
            raise Refused(f"{old.TABLE} {old.id} has ended")
    if isinstance(old, Attempt) and isinstance(new, Attempt):
        ended = old.state not in ATTEMPT_LIVE
        if ended and new.state is not old.state:
            raise Refused(f"attempt {old.id} has ended")


def check_values(row: Row) -> None:
    if isinstance(row, Run):
        if (row.finished_at is not None) != (row.state in RUN_ENDED):
            raise Refused(f"run {row.id} is {row.state} and finished at {row.finished_at}")
        if row.open < 0 or row.active < 0:
            raise Refused(f"run {row.id} counts {row.open} open and {row.active} active tasks")
    elif isinstance(row, Task) and row.open < 0:
        raise Refused(f"task {row.id} counts {row.open} open tasks")

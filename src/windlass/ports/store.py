"""The store: where every row lives, and the one way to change it.

Promise. `Session.save` writes all its rows in one transaction and returns only once they are
durable. It succeeds only if every run it changes still has the `seq` it was read at; since each
change of anything in a run raises that run's `seq`, a save built on stale rows, wherever they were
cached, fails with `Raced` and changes nothing. If the connection breaks in the middle, the outcome
is unknown: `Unavailable`, and the caller looks whether its events are there.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, NamedTuple, Protocol, TypeVar

import msgspec

from windlass.model.effects import Effect
from windlass.model.rows import BranchResult, Event, Row, Task, Variable

R = TypeVar("R", bound=Row)


class Raced(Exception):
    """Somebody else changed one of the rows first; read again and decide again."""


class Taken(Raced):
    """A row that was to be made is there already."""


class Writes(msgspec.Struct):
    """Rows of one transaction. `seqs` holds, for each changed run, the `seq` it was read at."""

    made: dict[type[Row], dict[Any, Row]] = {}
    changed: dict[type[Row], dict[Any, Row]] = {}
    removed: dict[type[Row], set[Any]] = {}
    seqs: dict[str, int] = {}
    was: dict[type[Row], dict[Any, Row]] = {}
    """Changed rows as they were read, for stores that gain from writing only what differs."""
    expired: dict[str, int] = {}
    """Attempts that are lost because their lease has run out by this time; if it was renewed since,
    the save fails with `Raced`."""
    stands: dict[type[Row], dict[Any, Row]] = {}
    """Rows outside runs as they were read: unless each of them still stands just so, the save fails
    with `Raced`."""
    notices: list[str] = []
    """What other processes should hear once this is committed."""


TAG_CHARS = 200


class Cond(NamedTuple):
    """One condition of a listing. `op`: = != < <= > >= in like, null, not null; and of `tags` that
    one is among some (`tagged`), each as `name=value`, cut off at `TAG_CHARS`."""

    column: str
    op: str
    value: Any = None


class EffectClaim(NamedTuple):
    """Who wants effects, of which addresses, how many of them, and for how long."""

    addresses: Sequence[str]
    holder: str
    now: int
    lease_until: int
    count_max: int = 100
    each_max: int = 20
    """Of one run."""


class Session(Protocol):
    """One round of reading and saving. Reads see committed rows."""

    async def rows(self, table: type[R], keys: Sequence[Any]) -> list[R]:
        """The rows with these primary keys; absent ones are left out."""
        ...

    async def rows_of(
        self, wanted: Mapping[type[Row], Sequence[Any]]
    ) -> dict[type[Row], list[Row]]:
        """The same for several tables at once: none is read before those that come first."""
        ...

    async def open_tasks(self, scopes: Sequence[str]) -> list[Task]:
        """Tasks below these scopes, at any depth, that have not ended."""
        ...

    async def run_tasks(self, run_id: str) -> list[Task]:
        """All tasks of a run, in the order they were made."""
        ...

    async def waiting_tasks(self, run_id: str, key: str) -> list[Task]:
        """Tasks of a run that wait for a shared key."""
        ...

    async def ended_branches(self, container: str) -> list[BranchResult]:
        """How the branches of a fan-out ended, by index."""
        ...

    async def variables(self, scopes: Sequence[str]) -> list[Variable]:
        """All shared keys of some scopes, by scope and key."""
        ...

    async def signals(self, run_id: str) -> list[Event]:
        """The `signal.received` events of a run, in order."""
        ...

    async def lock_runs(self, run_ids: Sequence[str]) -> None:
        """Keep others from changing these runs until this session ends, where that can be had."""
        ...

    async def queued(self, wants: Mapping[str, int]) -> list[Task]:
        """The oldest queued tasks of each queue, at most so many; others skip them meanwhile."""
        ...

    async def parked(self, wants: Mapping[str, int]) -> list[Task]:
        """Tasks that wait for each of these limits, at most so many, in the order of their turn."""
        ...

    async def hold(self, blanks: Sequence[R]) -> list[R]:
        """These rows of one table as they stand or, where there is none, as they are given; nobody
        else changes or makes them until this session ends. Where that cannot be had, the save fails
        with `Raced` if somebody did."""
        ...

    async def save(self, writes: Writes) -> None:
        """Commit everything, or raise and commit nothing. Ends the session."""
        ...


class Store(Protocol):
    """A database that keeps Windlass's tables."""

    announces: bool
    """Whether other processes hear the notices of a commit, or find out by themselves."""

    def now(self) -> int:
        """Database time in unix milliseconds; never runs backwards within a process."""
        ...

    def session(self) -> AbstractAsyncContextManager[Session]: ...

    async def query(self, name: str, **params: Any) -> list[dict[str, Any]]:
        """Run a named read-only query of the SQL files."""
        ...

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
        """Rows that meet all conditions, in the order of one column; those made in the same
        moment by key. A cursor is a condition. With `heavy` off, columns with payloads are not read
        and stand empty."""
        ...

    async def count(self, table: type[R], where: Sequence[Cond] = ()) -> int:
        """How many rows meet all conditions."""
        ...

    async def renew(
        self, attempts: Sequence[str], lease_until: int, worker_id: str = ""
    ) -> dict[str, bool]:
        """Extend live attempts whose lease has not run out, of one worker if it is named; tells of
        each still held whether it was asked to stop."""
        ...

    async def claim_effects(self, claim: "EffectClaim") -> list[Effect]:
        """Take effects that are due under a lease; nobody else gets them until it runs out."""
        ...

    async def end_effects(self, ids: Sequence[str], holder: str) -> None:
        """Remove effects that were done, as far as they are still the holder's."""
        ...

    async def secret(self) -> str:
        """A random text made with the database, the same for all its processes."""
        ...

    async def notices(self) -> list[str]:
        """Wait for what other processes announced; an empty list asks for a full look."""
        ...

    async def close(self) -> None: ...

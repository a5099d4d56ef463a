"""What a tenant sees: a store that shows its rows and nobody else's.

Isolation is made here, below every use case, so that none has to think of it. Rows that say whose
they are are asked for by that; rows of a run or a flow are shown if their run or flow is. Somebody
else's row is simply not there.
"""

from collections import OrderedDict
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from windlass.model.access import Audit, Token, User
from windlass.model.effects import Effect
from windlass.model.ids import run_of
from windlass.model.packages import Manifest
from windlass.model.queues import tenant_of, tenant_queue
from windlass.model.rows import (
    AffinityHold,
    BranchResult,
    Event,
    Flow,
    Idempotency,
    Row,
    Run,
    Task,
    Variable,
    Version,
    Worker,
)
from windlass.model.states import RunState
from windlass.model.tenants import ALL, DEFAULT, Tenant, has_tenant
from windlass.ports.store import Cond, EffectClaim, Session, Store, Writes

R = TypeVar("R", bound=Row)

_KNOWN_MAX = 10_000
_PEOPLE = (User, Token, Audit)
_OPEN = (Idempotency, Manifest, AffinityHold)
"""Rows whose keys nobody can guess or that hold nothing of anybody's: keys begin with their tenant,
and what a package contains is public to whoever may install it."""
_OF_A_RUN = ("log_pieces_after", "log_pieces_before", "shared_at")
_QUERIES = frozenset(
    {
        # These take a tenant.
        "find_target",
        "list_workflows",
        "list_package_versions",
        "count_runs",
        "count_held",
        "live_pods",
        "ended_pods",
        "sum_limits",
        "count_dead_letters",
        "count_env_sessions",
        "window_slices",
        "window_flows",
        # These are about rows that were read before.
        "flow_versions",
        "version_numbers",
        "params_begin",
        # These only say where to look.
        "flow_names",
        "tags_between",
        # What they show of others is left out afterwards.
        "held_by",
        "count_queues",
        # These are about one run, which has to be the tenant's.
        *_OF_A_RUN,
    }
)


class Tenants:
    """The tenants there are, as this process knows them."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.names: set[str] = {DEFAULT}
        self.weights: dict[str, int] = {DEFAULT: 1}
        """How much of what is free each gets."""

    async def refresh(self) -> bool:
        """Look who is there; whether that is anybody new."""
        rows = await self._store.page(Tenant, limit=_KNOWN_MAX)
        self.weights = {DEFAULT: 1, **{row.id: row.weight for row in rows}}
        before, self.names = self.names, {*self.weights}
        return self.names != before

    def queues(self, tenant: str, queues: Iterable[str]) -> list[str]:
        """The queues somebody takes tasks from who works for a tenant, or for all."""
        names = sorted(self.names) if tenant == ALL else [tenant]
        if names == [DEFAULT]:
            return list(queues)
        found = (tenant_queue(queue, name) for queue in queues for name in names)
        return list(dict.fromkeys(found))


class TenantStore:
    """A store as one tenant sees it."""

    def __init__(self, store: Store, tenant: str, *, operator: bool = False) -> None:
        self._store = store
        self.announces = store.announces
        self.tenant = tenant
        self._both = (tenant, ALL) if operator else (tenant,)
        self._owners: OrderedDict[str, bool] = OrderedDict()
        """Runs and flows asked for of late, and whether they are this tenant's: that never
        changes."""

    def now(self) -> int:
        return self._store.now()

    @asynccontextmanager
    async def session(self) -> AsyncGenerator["TenantSession"]:
        async with self._store.session() as session:
            yield TenantSession(self, session)

    async def query(self, name: str, **params: Any) -> list[dict[str, Any]]:
        assert name in _QUERIES, f"{name} is not asked for on behalf of a tenant"
        if name in _OF_A_RUN and not await self._seen(Run, {params["run_id"]}):
            return []
        rows = await self._store.query(name, **{**params, "tenant": self.tenant})
        if name == "count_queues":
            return [row for row in rows if tenant_of(row["queue"]) == self.tenant]
        if name == "held_by":
            seen = await self._seen(Run, {row["run_id"] for row in rows})
            return [row for row in rows if row["run_id"] in seen]
        return rows

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
        rows = await self._store.page(
            table,
            [*where, *self._mine(table, where)],
            order=order,
            descending=descending,
            limit=limit,
            offset=offset,
            heavy=heavy,
        )
        return await self.shown(table, rows)

    async def count(self, table: type[R], where: Sequence[Cond] = ()) -> int:
        assert has_tenant(table), f"rows of {table.TABLE} are not counted on behalf of a tenant"
        return await self._store.count(table, [*where, *self._mine(table, where)])

    def _mine(self, table: type[Row], where: Sequence[Cond]) -> list[Cond]:
        if not has_tenant(table):
            return []
        mine = self._whose(table)
        if len(mine) > 1:
            return [Cond("tenant", "in", list(mine))]
        if table is Run and not any(cond.column == "state" or is_one(cond) for cond in where):
            # The index of lists has the state between the tenant and the id.
            return [Cond("tenant", "=", self.tenant), Cond("state", "in", [*map(str, RunState)])]
        return [Cond("tenant", "=", self.tenant)]

    def _whose(self, table: type[Row]) -> tuple[str, ...]:
        """Whose rows are shown: workers that are shared are everybody's, and an operator of the
        system sees its people and tokens beside the tenant's."""
        if table is Worker:
            return (self.tenant, ALL)
        return self._both if table in _PEOPLE else (self.tenant,)

    async def shown(self, table: type[R], rows: list[R]) -> list[R]:
        """Those of some rows that the tenant may see."""
        if not rows or table in _OPEN:
            return rows
        if has_tenant(table):
            mine = self._whose(table)
            found = [row for row in rows if _text(row, "tenant") in mine]
            if table is Run or table is Flow:
                # What belongs to these is asked for next, and need not ask whose they are.
                self._know({_text(row, "id"): True for row in found})
            return found
        if table is Version:
            seen = await self._seen(Flow, {_text(row, "flow_id") for row in rows})
            return [row for row in rows if _text(row, "flow_id") in seen]
        seen = await self._seen(Run, {_text(row, "run_id") for row in rows})
        return [row for row in rows if _text(row, "run_id") in seen]

    async def _seen(self, table: type[Run] | type[Flow], ids: set[str]) -> set[str]:
        """Which of these runs or flows are the tenant's."""
        unknown = [id_ for id_ in ids if id_ not in self._owners]
        if unknown:
            async with self._store.session() as session:
                found = await session.rows(table, unknown)
            self._know({row.id: row.tenant == self.tenant for row in found})
        return {id_ for id_ in ids if self._owners.get(id_, False)}

    def _know(self, owned: Mapping[str, bool]) -> None:
        self._owners.update(owned)
        while len(self._owners) > _KNOWN_MAX:
            self._owners.popitem(last=False)

    async def sees_run(self, run_id: str) -> bool:
        return bool(await self._seen(Run, {run_id}))

    async def renew(
        self, attempts: Sequence[str], lease_until: int, worker_id: str = ""
    ) -> dict[str, bool]:
        seen = await self._seen(Run, {run_of(attempt) for attempt in attempts})
        mine = [attempt for attempt in attempts if run_of(attempt) in seen]
        return await self._store.renew(mine, lease_until, worker_id)

    # What nobody does on behalf of a tenant

    async def claim_effects(self, claim: EffectClaim) -> list[Effect]:
        return await self._store.claim_effects(claim)

    async def end_effects(self, ids: Sequence[str], holder: str) -> None:
        await self._store.end_effects(ids, holder)

    async def secret(self) -> str:
        return await self._store.secret()

    async def notices(self) -> list[str]:
        return await self._store.notices()

    async def close(self) -> None:
        await self._store.close()


class TenantSession:
    """A session as one tenant sees it."""

    def __init__(self, store: TenantStore, session: Session) -> None:
        self._store = store
        self._session = session

    async def rows(self, table: type[R], keys: Sequence[Any]) -> list[R]:
        return await self._store.shown(table, await self._session.rows(table, keys))

    async def rows_of(
        self, wanted: Mapping[type[Row], Sequence[Any]]
    ) -> dict[type[Row], list[Row]]:
        found = await self._session.rows_of(wanted)
        return {table: await self._store.shown(table, rows) for table, rows in found.items()}

    async def open_tasks(self, scopes: Sequence[str]) -> list[Task]:
        return await self._store.shown(Task, await self._session.open_tasks(scopes))

    async def run_tasks(self, run_id: str) -> list[Task]:
        return await self._store.shown(Task, await self._session.run_tasks(run_id))

    async def waiting_tasks(self, run_id: str, key: str) -> list[Task]:
        return await self._store.shown(Task, await self._session.waiting_tasks(run_id, key))

    async def ended_branches(self, container: str) -> list[BranchResult]:
        seen = await self._store.sees_run(container.partition("~")[0])
        return await self._session.ended_branches(container) if seen else []

    async def variables(self, scopes: Sequence[str]) -> list[Variable]:
        return await self._store.shown(Variable, await self._session.variables(scopes))

    async def signals(self, run_id: str) -> list[Event]:
        return await self._store.shown(Event, await self._session.signals(run_id))

    async def lock_runs(self, run_ids: Sequence[str]) -> None:
        await self._session.lock_runs(run_ids)

    async def queued(self, wants: Mapping[str, int]) -> list[Task]:
        return await self._store.shown(Task, await self._session.queued(wants))

    async def parked(self, wants: Mapping[str, int]) -> list[Task]:
        raise AssertionError("nobody wakes tasks on behalf of one tenant")

    async def hold(self, blanks: Sequence[R]) -> list[R]:
        raise AssertionError("nobody holds rows on behalf of one tenant")

    async def save(self, writes: Writes) -> None:
        await self._session.save(writes)


def is_one(cond: Cond) -> bool:
    """Whether a condition finds one row by its key."""
    return cond.column == "id" and cond.op == "="


def _text(row: Row, column: str) -> str:
    return str(getattr(row, column))

"""The engine: one object with every use case, over one store.

The use cases live in modules of their own (`flows`, `runs`, `attempts`, `workers`, `why`); this
one holds what they share. The loops beside them are started by the wiring.
"""

import asyncio
import secrets
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from copy import copy
from typing import Any, TypeVar

import msgspec

from windlass.engine.advance import Advance
from windlass.engine.change_locks import ChangeLocks
from windlass.engine.feed import Feed
from windlass.engine.graphs import Graphs
from windlass.engine.handlers import Handlers
from windlass.engine.jobs import Job, Outdated, WriteJob, rows_of
from windlass.engine.limits.rules import RULES_MAX, Rules
from windlass.engine.loops.forever import Duties
from windlass.engine.run_counts import RunCounts
from windlass.engine.tenants import Tenants, TenantStore
from windlass.engine.window_counts import WindowCounts
from windlass.kernel.bounds import Limits
from windlass.kernel.events import RunEvent
from windlass.model.envs import EnvResource
from windlass.model.errors import Unavailable
from windlass.model.ids import uuid7
from windlass.model.limits import RETRY_KEY, Limit, LimitRule, LimitUse, image_key, usual_burst
from windlass.model.rows import Row
from windlass.model.tenants import ALL, DEFAULT
from windlass.ports.store import Cond, Store

R = TypeVar("R", bound=Row)

_UPDATE_TRIES = 16
_VIEWS_MAX = 1_000
_PARKED_BATCH = 500


class Settings(msgspec.Struct, frozen=True):
    """What an operator can set about the engine."""

    lease_s: float = 30.0
    worker_ttl_s: float = 15.0
    """A worker not heard of for so long gets no more work and is shown as late."""
    sweep_s: float = 1.0
    """How often expired leases are looked for."""
    look_s: float = 5.0
    """How often everything is looked at afresh, in case a wake-up was lost."""
    behind_s_max: float = 10.0
    """A process that has had something to commit for so long without doing so is not ready."""
    payload_bytes_max: int = 8 * 1024 * 1024
    strict_workflows: bool = False
    """Publish only workflows without warnings."""
    no_worker_s: float = 30.0
    """After how long without anybody who does it a call of PocketFlow's dialect fails."""
    worker_kept_s: float = 30 * 86_400.0
    """How long a worker that nobody has heard of is remembered."""
    control_kept_s: float = 86_400.0
    """How long a process that ran the control plane is."""
    manifest_kept_s: float = 30 * 86_400.0
    """How long what workers said is in a package is kept at least; while one has it, always."""
    push_slots: int = 16
    """How many attempts a push worker gets at once if it did not say."""
    retries_per_minute: int = 0
    """How many retries of a tenant may begin in a minute; 0 is no bound."""
    retries_at_once: int = 0
    """How many of them may be out at the same time."""
    image_trip_after: int = 5
    """Pods in a row whose image could not be had that open its breaker; 0 is none."""
    image_reset_s: float = 60.0
    """For how long it stays open before one pod is tried."""
    tool_effects: str = ""
    """Effect classes of tools beside those built in, as `deploy=external_irreversible,…`."""
    limits: Limits = Limits()


class Engine:
    """Use cases over a store; `run` keeps it moving."""

    def __init__(
        self,
        store: Store,
        settings: Settings | None = None,
        *,
        name: str = "",
        random_bits: Callable[[int], int] = secrets.randbits,
    ) -> None:
        self.store = store
        self.system = self
        """The engine that sees everything."""
        self.tenant = ALL
        self.tenants = Tenants(store)
        self._views: OrderedDict[tuple[str, bool], Engine] = OrderedDict()
        self.settings = settings or Settings()
        self.handlers = Handlers()
        self.graphs = Graphs(store, on_load=self.handlers.learn_graph)
        self.advance = Advance(store, self.graphs, self.settings.limits)
        self.advance.limiting.rules.retries = retry_limit(self.settings)
        self.advance.prepare = self.rules
        self.advance.limiting.rules.images = image_limit(self.settings)
        self.recent: dict[tuple[str, str], tuple[int, Any]] = {}
        """Requests checked a moment ago, by tenant and digest, with when to check again. Whoever
        changes what was checked against clears it, for all."""
        self.outlines: dict[str, Any] = {}
        """Where the nodes of workflows went in their graphs, by version."""
        self.fact_counts: Counter[str] = Counter()
        """What became of the facts that were stated here."""
        self.change_locks = ChangeLocks()
        self.feed = Feed()
        self.duties = Duties()
        self.advance.listeners.append(self.feed.committed)
        self.run_counts = RunCounts()
        self.advance.listeners.append(self.run_counts.committed)
        self.window_counts = WindowCounts()
        self._random_bits = random_bits
        self.name = name or f"server-{random_bits(32):08x}"

    def of(self, tenant: str, *, operator: bool = False) -> "Engine":
        """The same engine, for a tenant: it sees what is the tenant's, and what it makes is. An
        operator of the system sees the system's people beside it."""
        known, key = self._views, (tenant, operator)
        if key not in known:
            view = known[key] = copy(self.system)
            view.tenant = tenant
            view.store = TenantStore(self.system.store, tenant, operator=operator)
            while len(known) > _VIEWS_MAX:
                known.popitem(last=False)
        known.move_to_end(key)
        return known[key]

    async def refresh_tenants(self) -> None:
        """Take note of tenants that were made since; whoever works for all gets their tasks."""
        new = await self.tenants.refresh()
        demands = self.advance.demands
        demands.shares.weigh(self.tenants.weights)
        if new:
            demands.tenants_changed(lambda queues: self.tenants.queues(ALL, queues))
            self.advance.look_again()

    async def rules(self) -> Rules:
        """Rules on limits, read if nobody has yet."""
        rules = self.advance.limiting.rules
        if not rules.known:
            await self.system.refresh_limits()
        return rules

    async def refresh_limits(self) -> None:
        """Take note of rules on limits, and of services that want to be left alone."""
        rules = self.advance.limiting.rules
        resources = await self.store.page(EnvResource, limit=RULES_MAX)
        news = rules.replace(await self.store.page(LimitRule, limit=RULES_MAX), resources)
        # Whoever made a change may have died before it let those who wait be tried.
        self.advance.look_at_limits(news.envs, probe=True)
        after: str | None = "" if news.rules else None
        while after is not None:
            parked = [Cond("parked", ">", 0), Cond("id", ">", after)]
            uses = await self.store.page(LimitUse, parked, limit=_PARKED_BATCH)
            self.advance.look_at_limits(news.concerns(uses), probe=True)
            after = uses[-1].id if len(uses) == _PARKED_BATCH else None
        now = self.store.now()
        paused = [Cond("paused_until", ">", now)]
        rules.paused(await self.store.page(LimitUse, paused, limit=RULES_MAX), now)

    @property
    def home(self) -> str:
        """Whose the rows are that it makes."""
        return DEFAULT if self.tenant == ALL else self.tenant

    def new_id(self) -> str:
        return uuid7(self.store.now(), self._random_bits(74))

    async def submit(self, event: RunEvent, *along: Row) -> Any:
        """Hand an event to the group commit, with rows that are made only if it counts; returns
        once it is committed or refused."""
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.advance.submit(Job(event, answer, along, self.tenant))
        return await answer

    async def write(
        self,
        *made: Row,
        changed: tuple[Row, ...] = (),
        stands: tuple[Row, ...] = (),
        removed: Mapping[type[Row], set[Any]] | None = None,
    ) -> None:
        """Write rows that belong to no run, if those in `stands` are still as they were read."""
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        rows = (rows_of(*made), rows_of(*changed), rows_of(*stands))
        self.advance.submit(WriteJob(answer, *rows, removed))
        await answer

    async def update(
        self, table: type[R], key: Any, change: Callable[[R], R | None], *along: Row
    ) -> R | None:
        """Change a row that belongs to no run as it stands now, whoever else changes it; the rows
        `along` are made in the same commit. None if there is none, or nothing is to change."""
        async with self.change_locks.of((table, key)):
            for _ in range(_UPDATE_TRIES):
                async with self.store.session() as session:
                    found = await session.rows(table, [key])
                new = change(found[0]) if found else None
                if new is None:
                    return None
                try:
                    await self.write(*along, changed=(new,), stands=(found[0],))
                except Outdated:
                    continue
                return new
        raise Unavailable(f"{table.TABLE} {key} changes too often")


def image_limit(settings: Settings) -> Limit | None:
    """What the settings say of the breaker of every image."""
    if not settings.image_trip_after:
        return None
    reset_ms = int(settings.image_reset_s * 1000)
    return Limit(image_key(""), trip_after=settings.image_trip_after, reset_ms=reset_ms)


def retry_limit(settings: Settings) -> Limit | None:
    """What the settings say of every tenant's retries."""
    rate, most = settings.retries_per_minute, settings.retries_at_once
    if not (rate or most):
        return None
    return Limit(RETRY_KEY, most or None, rate, 60_000, usual_burst(rate))

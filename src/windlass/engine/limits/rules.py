"""Rules on limits, as this process knows them: what an operator said of keys at runtime.

Rules are few and read at every claim of something limited, so they are kept in memory; a change is
heard of by a notice, and at the look at everything. A rule on `service:NAME` or on `tenant` is for
tasks that ask for no limit themselves, and so is a service that has pushed back.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from windlass.model.budgets import LAUNCHES, SCALES, budget_key, unit_of
from windlass.model.envs import ENVS_KEY, EnvResource, env_key, is_env_key
from windlass.model.graph import Kind, Transport
from windlass.model.limits import (
    RETRY_KEY,
    TENANT_KEY,
    Limit,
    LimitRule,
    LimitUse,
    is_image_key,
    key_of,
    limit_id,
    read_held,
    read_limits,
    service_key,
)
from windlass.model.queues import service_of, tenant_of, transport_of
from windlass.model.quotas import (
    ENVS,
    RUNS,
    TASKS,
    QueuedRun,
    is_mark,
    levels,
    marked_project,
    quota_key,
    what_of,
    write_quota,
)
from windlass.model.rows import Json, Task
from windlass.model.states import TaskState

RULES_MAX = 10_000
_KNOWN_MAX = 10_000
_RESOURCES_TOLD = 200
_OF_TENANTS = frozenset(budget_key(unit) for unit in SCALES)


class RuleNews(msgspec.Struct, frozen=True):
    """What has changed since rules were read before. Whoever waits for a key of theirs waited for
    another bound."""

    envs: list[str]
    """Resources by their limits."""
    rules: list[LimitRule]
    """Rules as they were, and as they are."""

    def concerns(self, uses: Iterable[LimitUse]) -> list[str]:
        """Which of these keys rules have changed for."""
        exact = {rule.id for rule in self.rules}
        patterns: defaultdict[str, list[LimitRule]] = defaultdict(list)
        for rule in self.rules:
            if rule.pattern.endswith("*"):
                patterns[rule.tenant].append(rule)
        return [
            use.id
            for use in uses
            if use.id in exact or any(rule.covers(use.key) for rule in patterns[use.tenant])
        ]


class Rules:
    """The rules of all tenants, and the services that want to be left alone."""

    def __init__(self) -> None:
        self._all: dict[str, LimitRule] = {}
        self._exact: dict[str, LimitRule] = {}
        self._patterns: dict[str, list[LimitRule]] = {}
        """By tenant, the most specific first."""
        self._on_services = False
        self._on_tenants = False
        self.retries: Limit | None = None
        """What every tenant's retries may be, unless a rule says otherwise."""
        self.images: Limit | None = None
        """The breaker of every image, unless a rule says otherwise."""
        self._on_retries = False
        self._budgets: dict[str, list[str]] = {}
        """By tenant: the keys of its own budgets."""
        self._paused: dict[str, int] = {}
        """Ids of keys of services nobody may call, and until when."""
        self.envs: dict[str, EnvResource] = {}
        """By the limit that says how many places of it there may be."""
        self._known: dict[tuple[str, Json, bool, bool], dict[str, Limit]] = {}
        """What was found for tasks alike, until something changes."""
        self._on_quotas = False
        self.known = False
        """Whether they were ever read: before that nothing may be handed out."""

    def replace(
        self, rules: Sequence[LimitRule], resources: Iterable[EnvResource] = ()
    ) -> "RuleNews":
        """These are all the rules there are, and all resources of environments; what of it is
        new."""
        envs = {limit_id(row.tenant, env_key(row.name)): row for row in resources}
        before, self._all = self._all, {rule.id: rule for rule in rules}
        news = RuleNews(
            [key for key, row in envs.items() if self.envs.get(key) != row],
            [*(set(before.values()) ^ set(self._all.values()))],
        )
        self.known = True
        self._known.clear()
        self.envs = envs
        patterns: defaultdict[str, list[LimitRule]] = defaultdict(list)
        self._exact = {}
        self._on_services = self._on_tenants = self._on_retries = self._on_quotas = False
        self._budgets = {}
        for rule in rules:
            if rule.budget is not None and rule.pattern in _OF_TENANTS:
                self._budgets.setdefault(rule.tenant, []).append(rule.pattern)
            if rule.pattern.endswith("*"):
                patterns[rule.tenant].append(rule)
            else:
                self._exact[rule.id] = rule
            self._on_services |= overlap(rule.pattern, service_key(""))
            self._on_tenants |= rule.covers(TENANT_KEY) or rule.covers(quota_key(TASKS))
            self._on_quotas |= overlap(rule.pattern, quota_key(""))
            self._on_retries |= rule.pattern == RETRY_KEY
        for some in patterns.values():
            some.sort(key=lambda rule: len(rule.pattern), reverse=True)
        self._patterns = dict(patterns)
        return news

    def paused(self, uses: Iterable[LimitUse], now: int) -> None:
        """Take note of services that want to be left alone."""
        before = len(self._paused)
        for use in uses:
            if use.paused_until > now and use.key.startswith(service_key("")):
                self._paused[use.id] = use.paused_until
        for key in [key for key, until in self._paused.items() if until <= now]:
            del self._paused[key]
        if before or self._paused:
            self._known.clear()

    @property
    def implied(self) -> bool:
        """Whether tasks that ask for no limit may be under one."""
        return self._on_services or self._on_tenants or bool(self._paused or self._budgets)

    @property
    def on_retries(self) -> bool:
        """Whether tasks that have failed before may be under a limit for that."""
        return self.retries is not None or self._on_retries

    def rule(self, tenant: str, key: str) -> LimitRule | None:
        """The most specific rule on a key."""
        exact = self._exact.get(limit_id(tenant, key))
        if exact is not None:
            return exact
        return next((r for r in self._patterns.get(tenant, ()) if r.covers(key)), None)

    def allowed(self, tenant: str, limit: Limit) -> Limit:
        """A limit as it stands, with what a rule says of its key."""
        rule = self.rule(tenant, limit.key)
        if rule is None:
            return limit
        changes: dict[str, int | None] = {}
        if rule.max is not None:
            changes["max"] = rule.max
        if rule.budget is not None:
            changes["budget"] = rule.budget
        if rule.trip_after is not None:
            changes.update(trip_after=rule.trip_after, reset_ms=rule.reset_ms)
        if rule.rate is not None:
            changes.update(rate=rule.rate, per_ms=rule.per_ms, burst=rule.burst)
        return msgspec.structs.replace(limit, **changes)

    def limits_of(self, task: Task) -> dict[str, Limit]:
        """What handing a task out takes, by id: its own limits, and those it is under by a rule."""
        retried = self.on_retries and is_retry(task)
        if not (task.limits or retried or self.implied):
            return {}
        key = (task.queue or "", task.limits, retried, bool(task.env))
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= _KNOWN_MAX:
                self._known.clear()
            known = self._known[key] = self._limits_of(*key)
        if not can_park(task):
            return {id_: limit for id_, limit in known.items() if unit_of(limit.key)}
        return known

    def _limits_of(self, queue: str, limits: Json, retried: bool, placed: bool) -> dict[str, Limit]:
        tenant = tenant_of(queue)
        asked = read_limits(limits)
        place = next((limit for limit in asked if is_env_key(limit.key)), None)
        if place is not None and not placed:
            # First it gets its place. What an attempt takes is asked for when there is one.
            found = {limit_id(tenant, place.key): self._capacity(tenant, place)}
            if self.rule(tenant, ENVS_KEY) is not None:
                found[limit_id(tenant, ENVS_KEY)] = self.allowed(tenant, Limit(ENVS_KEY))
            if self._on_quotas:
                quota = Limit(quota_key(ENVS))
                found |= self._quotas(tenant, marked_project(asked), [quota])
            return found
        project = marked_project(asked)
        own = [
            self.allowed(tenant, self._with_breaker(limit))
            for limit in asked
            if limit is not place and self._matters(tenant, limit)
        ]
        found = {limit_id(tenant, limit.key): limit for limit in own}
        if self._on_services or self._paused:
            key = service_key(service_of(queue))
            limit_of = limit_id(tenant, key)
            if self.rule(tenant, key) is not None or limit_of in self._paused:
                found.setdefault(limit_of, self.allowed(tenant, Limit(key)))
        if retried and (self.retries is not None or self.rule(tenant, RETRY_KEY) is not None):
            limit = self.allowed(tenant, self.retries or Limit(RETRY_KEY))
            found.setdefault(limit_id(tenant, RETRY_KEY), limit)
        for key in self._budgets.get(tenant, ()):
            if unit_of(key) == LAUNCHES and transport_of(queue) != Transport.POD:
                continue
            estimates = [limit.estimate for limit in own if unit_of(limit.key) == unit_of(key)]
            limit = Limit(key, estimate=max(estimates, default=0))
            found.setdefault(limit_id(tenant, key), self.allowed(tenant, limit))
        if self._on_tenants and self.rule(tenant, TENANT_KEY) is not None:
            key = limit_id(tenant, TENANT_KEY)
            found.setdefault(key, self.allowed(tenant, Limit(TENANT_KEY)))
        if self._on_quotas:
            measured = [limit for limit in asked if what_of(limit.key)]
            found |= self._quotas(tenant, project, [Limit(quota_key(TASKS)), *measured])
        return found

    def _quotas(self, tenant: str, project: str, wants: Iterable[Limit]) -> dict[str, Limit]:
        """What of these is bounded, at each level."""
        found: dict[str, Limit] = {}
        for limit in wants:
            for key in levels(what_of(limit.key), project):
                if self.rule(tenant, key) is not None:
                    at = msgspec.structs.replace(limit, key=key)
                    found[limit_id(tenant, key)] = self.allowed(tenant, at)
        return found

    def quota_of_run(self, tenant: str, project: str) -> Json:
        """What a run that is started now holds while it goes on; empty where nobody bounds that."""
        if not self._on_quotas:
            return ""
        keys = levels(RUNS, project)
        return write_quota(tenant, [key for key in keys if self.rule(tenant, key) is not None])

    def of_run(self, queued: QueuedRun) -> dict[str, Limit]:
        """What a run takes when it begins, as it is bounded now."""
        held = read_held(queued.limits)
        return {id_: self.allowed(queued.tenant, Limit(key_of(id_))) for id_ in held}

    def _matters(self, tenant: str, limit: Limit) -> bool:
        """Whether it is a limit by itself. Quotas are looked at apart; every pod is under a limit
        of its image, of which mostly nobody has said anything."""
        if what_of(limit.key) or is_mark(limit.key):
            return False
        if not is_image_key(limit.key) or limit.max is not None or limit.rate:
            return True
        return self.images is not None or self.rule(tenant, limit.key) is not None

    def _with_breaker(self, limit: Limit) -> Limit:
        usual = self.images
        if usual is None or not is_image_key(limit.key):
            return limit
        return msgspec.structs.replace(limit, trip_after=usual.trip_after, reset_ms=usual.reset_ms)

    def _capacity(self, tenant: str, place: Limit) -> Limit:
        """How many places of a resource there may be: none where nobody made it, or it is not to
        be used."""
        resource = self.envs.get(limit_id(tenant, place.key))
        active = resource is not None and resource.status == "active"
        most = resource.capacity if resource is not None and active else 0
        ruled = self.allowed(tenant, place)
        lower = most if ruled.max is None else min(most, ruled.max)
        return msgspec.structs.replace(ruled, max=lower)

    def resources(self, tenant: str) -> tuple[tuple[str, str, str], ...]:
        """Name, kind and status of a tenant's resources, for its planners."""
        own = [row for row in self.envs.values() if row.tenant == tenant]
        listed = sorted((row.name, row.kind, row.status) for row in own)
        return tuple(listed[:_RESOURCES_TOLD])

    def wanted(self, task: Task) -> EnvResource | None:
        """What a task needs a place of before it can be handed out; None if it needs none, or has
        it."""
        if task.env or not task.limits or not can_park(task):
            return None
        return next((self.envs[key] for key in self.limits_of(task) if key in self.envs), None)


def is_retry(task: Task) -> bool:
    """Whether a task has been tried before. A worker that was lost is no try of the task's, but
    pods that are moved all at once from a full node to the next would be a storm of them."""
    return bool(task.failures or (task.moves and transport_of(task.queue or "") == Transport.POD))


def overlap(pattern: str, start: str) -> bool:
    """Whether a pattern may cover a key that begins so."""
    if pattern.endswith("*"):
        stem = pattern[:-1]
        return stem.startswith(start) or start.startswith(stem)
    return pattern.startswith(start)


def can_park(task: Task) -> bool:
    """Whether a task can wait for a limit. Planning and verdicts have no other way to wait than
    their queues: they are under no limits, and only counted where there is a budget."""
    return task.kind == Kind.CALL and task.state is not TaskState.VERIFYING

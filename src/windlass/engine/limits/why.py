"""Why a task, or a run that has yet to begin, waits for a limit."""

from windlass.engine.engine import Engine
from windlass.engine.limits.bucket import Bucket
from windlass.engine.limits.gate import blank
from windlass.engine.limits.spend import Spend
from windlass.model import budgets
from windlass.model.budgets import unit_of
from windlass.model.limits import RETRY_KEY, LimitUse, read_limits
from windlass.model.quotas import QueuedRun, is_measured, project_of, shown, what_of
from windlass.model.reasons import Reason, ReasonCode, ReasonValues
from windlass.model.rows import Run, Task
from windlass.ports.store import Cond


async def limit_reason(engine: Engine, task: Task) -> Reason:
    """What is used up, and how many come first or when the next may go."""
    assert task.parked is not None
    async with engine.store.session() as session:
        found = await session.rows(LimitUse, [task.parked])
    use = found[0] if found else blank(task.parked)
    now = engine.store.now()
    before = await ahead(engine, task)
    if unit := unit_of(use.key):
        return budget_reason(use, unit, before)
    if what_of(use.key):
        return quota_reason(use, wanted(task, use.key), before)
    if use.key == RETRY_KEY:
        return retry_reason(use, now, before)
    if use.tripped:
        return breaker_reason(use, now, before)
    return place_reason(use, now, before)


def place_reason(use: LimitUse, now: int, before: int) -> Reason:
    """Of a limit of places or of a rate."""
    if use.paused_until > now:
        values = ReasonValues(key=use.key, until=use.paused_until, ahead=before)
        return Reason(ReasonCode.LIMIT_PUSHED_BACK, values)
    if not Bucket(use, now).places:
        values = ReasonValues(key=use.key, used=str(use.in_use), most=str(use.max), ahead=before)
        return Reason(ReasonCode.LIMIT_FULL, values)
    at = Bucket(use, now).next_at()
    if at is not None and at > now:
        return Reason(ReasonCode.LIMIT_RATE, ReasonValues(key=use.key, until=at, ahead=before))
    return Reason(ReasonCode.LIMIT_ROOM, ReasonValues(key=use.key, ahead=before))


async def run_reason(engine: Engine, run: Run) -> Reason:
    """What a run waits for before it begins."""
    async with engine.store.session() as session:
        rows = await session.rows(QueuedRun, [run.id])
        uses = await session.rows(LimitUse, [row.parked for row in rows])
    if not rows:
        return Reason(ReasonCode.RUN_BEGINNING)
    queued = rows[0]
    earlier = [Cond("parked", "=", queued.parked), Cond("turn", "<", queued.turn)]
    before = await engine.system.store.count(QueuedRun, earlier)
    return quota_reason(uses[0] if uses else blank(queued.parked), 0, before)


def quota_reason(use: LimitUse, want: int, before: int) -> Reason:
    what, project = what_of(use.key), project_of(use.key)
    too_much = use.max is not None and want > use.max
    values = ReasonValues(
        tenant="" if project else use.tenant,
        project=project,
        unit=what,
        used=shown(what, use.in_use),
        most="" if use.max is None else shown(what, use.max),
        wanted=shown(what, want) if want else "",
        ahead=0 if too_much else before,
    )
    return Reason(ReasonCode.QUOTA_TOO_MUCH if too_much else ReasonCode.QUOTA_FULL, values)


def wanted(task: Task, key: str) -> int:
    """What a task takes of a quota that has amounts."""
    what = what_of(key)
    wants = [limit.estimate for limit in read_limits(task.limits) if what_of(limit.key) == what]
    return wants[0] if wants and is_measured(key) else 0


def retry_reason(use: LimitUse, now: int, before: int) -> Reason:
    bucket = Bucket(use, now)
    if not bucket.places:
        values = ReasonValues(
            tenant=use.tenant, used=str(use.in_use), most=str(use.max), ahead=before
        )
        return Reason(ReasonCode.RETRIES_OUT, values)
    values = ReasonValues(tenant=use.tenant, until=bucket.next_at() or now, ahead=before)
    return Reason(ReasonCode.RETRIES_SPENT, values)


def breaker_reason(use: LimitUse, now: int, before: int) -> Reason:
    if use.paused_until > now:
        values = ReasonValues(
            key=use.key, failures=use.failures, until=use.paused_until, ahead=before
        )
        return Reason(ReasonCode.BREAKER_OPEN, values)
    values = ReasonValues(key=use.key, used=str(use.in_use), ahead=before)
    return Reason(ReasonCode.BREAKER_TRIAL, values)


async def ahead(engine: Engine, task: Task) -> int:
    """How many wait for the same and come first."""
    same = [Cond("parked", "=", task.parked), Cond("priority", "=", task.priority)]
    earlier = Cond("ready_at", "<", task.ready_at or 0)
    as_early = [Cond("ready_at", "=", task.ready_at or 0), Cond("id", "<", task.id)]
    higher = [Cond("parked", "=", task.parked), Cond("priority", ">", task.priority)]
    # The limit's id carries the tenant, so nobody else's tasks are counted.
    count = engine.system.store.count
    return (
        await count(Task, higher)
        + await count(Task, [*same, earlier])
        + await count(Task, [*same, *as_early])
    )


def budget_reason(use: LimitUse, unit: str, before: int) -> Reason:
    """What is left of a budget."""
    spend = Spend(use)
    values = ReasonValues(
        kind=budgets.owner_of(use.key).removeprefix("the "),
        unit=unit,
        used=str(budgets.shown(unit, spend.spent)),
        most=str(budgets.shown(unit, spend.total)),
        reserved=str(budgets.shown(unit, spend.reserved)),
        ahead=before,
    )
    return Reason(ReasonCode.BUDGET_SPENT if spend.is_spent else ReasonCode.BUDGET_RESERVED, values)

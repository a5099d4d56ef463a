"""Why a task, or a run that has yet to begin, waits for a limit, in a line."""

from windlass.engine.engine import Engine
from windlass.engine.limits.bucket import Bucket
from windlass.engine.limits.gate import blank
from windlass.engine.limits.spend import Spend
from windlass.model import budgets
from windlass.model.budgets import owner_of, unit_of
from windlass.model.limits import RETRY_KEY, LimitUse, read_limits
from windlass.model.quotas import QueuedRun, is_measured, project_of, shown, what_of
from windlass.model.rows import Run, Task
from windlass.ports.store import Cond


async def limit_line(engine: Engine, task: Task) -> str:
    """What is used up, and how many come first or when the next may go."""
    assert task.parked is not None
    async with engine.store.session() as session:
        found = await session.rows(LimitUse, [task.parked])
    use = found[0] if found else blank(task.parked)
    now = engine.store.now()
    before = await ahead(engine, task)
    line = f"{before} ahead of you"
    if unit := unit_of(use.key):
        return budget_line(use, unit, line)
    if what_of(use.key):
        return quota_line(use, wanted(task, use.key), line)
    if use.key == RETRY_KEY:
        return retry_line(use, now, line)
    if use.tripped:
        return breaker_line(use, now, line)
    if use.paused_until > now:
        wait = (use.paused_until - now) / 1000
        return f"{use.key} has pushed back: next in {wait:.1f} s, {line}"
    if not Bucket(use, now).places:
        return f"limit {use.key}: {use.in_use} of {use.max} in use, {line}"
    at = Bucket(use, now).next_at()
    if at is not None and at > now:
        return f"rate {use.key}: next in {(at - now) / 1000:.1f} s, {line}"
    return f"limit {use.key}: there is room, {line}"


async def run_line(engine: Engine, run: Run) -> str:
    """What a run waits for before it begins."""
    async with engine.store.session() as session:
        rows = await session.rows(QueuedRun, [run.id])
        uses = await session.rows(LimitUse, [row.parked for row in rows])
    if not rows:
        return "between two steps; it begins with the next commit"
    queued = rows[0]
    before = [Cond("parked", "=", queued.parked), Cond("turn", "<", queued.turn)]
    line = f"{await engine.system.store.count(QueuedRun, before)} ahead of you"
    return quota_line(uses[0] if uses else blank(queued.parked), 0, line)


def quota_line(use: LimitUse, want: int, line: str) -> str:
    what, project = what_of(use.key), project_of(use.key)
    owner = f"project {project}" if project else f"tenant {use.tenant}"
    most = "any" if use.max is None else shown(what, use.max)
    text = f"quota of {owner}: {shown(what, use.in_use)} of {most} {what} in use"
    if not want:
        return f"{text}, {line}"
    text += f", it takes {shown(what, want)}"
    if use.max is not None and want > use.max:
        return f"{text}, which is more than there may ever be: raise the quota or ask for less"
    return f"{text}, {line}"


def wanted(task: Task, key: str) -> int:
    """What a task takes of a quota that has amounts."""
    what = what_of(key)
    wants = [limit.estimate for limit in read_limits(task.limits) if what_of(limit.key) == what]
    return wants[0] if wants and is_measured(key) else 0


def retry_line(use: LimitUse, now: int, line: str) -> str:
    bucket = Bucket(use, now)
    name = f"retry budget of tenant {use.tenant}"
    if not bucket.places:
        return f"{name}: {use.in_use} of {use.max} retries are out, {line}"
    at = bucket.next_at() or now
    return f"{name} is spent: next in {max(0, at - now) / 1000:.0f} s, {line}"


def breaker_line(use: LimitUse, now: int, line: str) -> str:
    name = f"breaker of {use.key}"
    if use.paused_until > now:
        wait = (use.paused_until - now) / 1000
        return f"{name} is open after {use.failures} failures: next try in {wait:.1f} s, {line}"
    return f"{name} is half-open: {use.in_use} on trial, {line}"


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


def budget_line(use: LimitUse, unit: str, line: str) -> str:
    """What is left of a budget, and whose move it is."""
    spend = Spend(use)
    spent, total = budgets.shown(unit, spend.spent), budgets.shown(unit, spend.total)
    name = f"budget of {owner_of(use.key)}"
    if spend.is_spent:
        hint = "answer its question in the inbox, or raise it with `windlass limit set`"
        return f"{name} is spent: {spent} of {total} {unit}, {line}; {hint}"
    reserved = budgets.shown(unit, spend.reserved)
    return f"{name}: {spent} of {total} {unit} spent, {reserved} reserved, {line}"

"""The named queries of the SQL files and the conditions of a listing, over rows in memory."""

import operator
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import islice
from typing import Any, TypeVar

import msgspec

from windlass.model.dead_letters import DeadLetter
from windlass.model.effects import Effect
from windlass.model.envs import EnvSession, EnvState
from windlass.model.limits import QUOTAS, LimitUse
from windlass.model.rows import (
    Attempt,
    Binding,
    Flow,
    Resource,
    Row,
    Run,
    Task,
    Timer,
    Variable,
    Version,
)
from windlass.model.states import ATTEMPT_LIVE, RunState
from windlass.model.tenants import ALL
from windlass.ports.store import TAG_CHARS, Cond
from windlass.testing.memory.database import MemoryDatabase
from windlass.testing.memory.log_queries import log_pieces_after, log_pieces_before

R = TypeVar("R", bound=Row)
Found = list[dict[str, Any]]
_OPEN = (RunState.QUEUED, RunState.RUNNING, RunState.WAITING)

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def next_due(db: MemoryDatabase, now: int) -> Found:
    coming = (t.due_at for t in db.table(Timer).values() if t.due_at > now)
    return [{"due_at": min(coming, default=None)}]


def due_limits(db: MemoryDatabase, now: int, count_max: int) -> Found:
    uses = [use for use in db.table(LimitUse).values() if use.wake_at is not None]
    due = sorted((use.wake_at or 0, use.id) for use in uses if (use.wake_at or 0) <= now)
    return [{"id": key, "wake_at": at} for at, key in due[:count_max]]


def sum_limits(db: MemoryDatabase, tenant: str) -> Found:
    uses = [
        use
        for use in db.table(LimitUse).values()
        if tenant in (ALL, use.tenant) and not use.key.startswith(QUOTAS)
    ]
    in_use, waiting = sum(use.in_use for use in uses), sum(use.parked for use in uses)
    return [{"keys": len(uses), "in_use": in_use, "waiting": waiting}]


def used_bytes(db: MemoryDatabase, tenant: str, now: int) -> Found:
    files = [row for row in db.table(Resource).values() if row.tenant == tenant]
    sizes = (
        row.size_bytes
        for row in files
        if row.state == "complete"
        or (row.state != "aborted" and (row.expires_at is None or row.expires_at > now))
    )
    return [{"bytes": sum(sizes)}]


def count_runs(db: MemoryDatabase, tenant: str) -> Found:
    counts = Counter(
        str(run.state) for run in db.table(Run).values() if tenant in (ALL, run.tenant)
    )
    return [{"state": state, "n": n} for state, n in counts.items()]


def window_slices(db: MemoryDatabase, low: str, since: int, width: int, tenant: str) -> Found:
    counts = Counter(
        ((run.created_at - since) // width, str(run.state))
        for run in db.table(Run).values()
        if run.id >= low and tenant in (ALL, run.tenant)
    )
    return [{"slice": at, "state": state, "n": n} for (at, state), n in counts.items()]


def window_flows(db: MemoryDatabase, low: str, tenant: str) -> Found:
    counts = Counter(
        (run.flow_name, str(run.state))
        for run in db.table(Run).values()
        if run.id >= low and tenant in (ALL, run.tenant)
    )
    return [{"flow_name": flow, "state": state, "n": n} for (flow, state), n in counts.items()]


def count_queues(db: MemoryDatabase) -> Found:
    return [
        {
            "queue": queue,
            "n": len(tasks),
            "oldest": min((t.ready_at for t in tasks if t.ready_at is not None), default=None),
        }
        for queue, tasks in ((queue, list(db.queued(queue))) for queue in db.queues)
    ]


def count_held(db: MemoryDatabase, tenant: str) -> Found:
    runs = db.table(Run)
    counts = Counter(
        attempt.worker_id
        for attempt in db.live_attempts
        if tenant in (ALL, runs[attempt.run_id].tenant)
    )
    return [{"worker_id": worker, "n": n} for worker, n in counts.items()]


def flow_versions(db: MemoryDatabase, flow_ids: Sequence[str]) -> Found:
    numbers: dict[str, list[int]] = {}
    for version in db.table(Version).values():
        if version.flow_id in flow_ids:
            numbers.setdefault(version.flow_id, []).append(version.number)
    return [{"flow_id": f, "n": len(found), "latest": max(found)} for f, found in numbers.items()]


def expired_leases(db: MemoryDatabase, now: int, count_max: int, passed_over: int) -> Found:
    expired: list[Attempt] = [
        a for a in db.live_attempts if a.lease_until <= now and not a.external_ref
    ]
    expired.sort(key=lambda attempt: (attempt.lease_until, attempt.id))
    return [{"id": a.id, "lease_until": a.lease_until} for a in expired[passed_over:][:count_max]]


def detached_attempts(db: MemoryDatabase, after: str, count_max: int) -> Found:
    found = sorted((a.id, a) for a in db.live_attempts if a.external_ref and a.id > after)
    columns = ("id", "external_ref", "state", "cancel_at")
    return [{name: getattr(a, name) for name in columns} for _, a in found[:count_max]]


def live_pods(db: MemoryDatabase, **asked: Any) -> Found:
    return _pods(db, db.live_attempts, **asked)


def ended_pods(db: MemoryDatabase, **asked: Any) -> Found:
    ended = (a for a in db.table(Attempt).values() if a.state not in ATTEMPT_LIVE)
    return _pods(db, ended, **asked)


def _pods(
    db: MemoryDatabase,
    among: Iterable[Attempt],
    *,
    tenant: str,
    state: str,
    namespace: str,
    pattern: str,
    before: str,
    count_max: int,
) -> Found:
    runs, tasks = db.table(Run), db.table(Task)

    def is_meant(row: Attempt) -> bool:
        run = runs[row.run_id]
        names = (run.id, run.flow_name, tasks[row.task_id].node, row.external_ref)
        return (
            row.id < before
            and tenant in (ALL, run.tenant)
            and state in ("", row.state)
            and (not namespace or _meets(row.external_ref, "like", namespace))
            and (not pattern or any(_meets(name.lower(), "like", pattern) for name in names))
        )

    found = sorted((a.id for a in among if a.external_ref and is_meant(a)), reverse=True)
    return [{"id": id_} for id_ in found[:count_max]]


def attempts_of_pod(db: MemoryDatabase, refs: Sequence[str]) -> Found:
    rows = db.table(Attempt).values()
    return [{"id": a.id} for a in rows if a.external_ref and a.external_ref in refs]


def find_target(db: MemoryDatabase, flow: str, number: int, tenant: str) -> Found:
    flows = [
        row
        for row in db.table(Flow).values()
        if flow in (row.id, row.name) and tenant in (ALL, row.tenant)
    ]
    flows.sort(key=lambda row: (row.id == flow, row.id), reverse=True)
    for row in flows:
        versions = [v for v in db.table(Version).values() if v.flow_id == row.id]
        fitting = [v for v in versions if v.number == number or (not number and is_published(v))]
        if fitting:
            newest = max(fitting, key=lambda v: v.number)
            target = {"flow_id": row.id, "flow_name": row.name, "version_id": newest.id}
            return [{**target, "number": newest.number, "dialect": newest.dialect}]
    return []


def stopping(db: MemoryDatabase, count_max: int) -> Found:
    asked = (a for a in db.live_attempts if a.cancel_at is not None)
    return [{"id": a.id, "worker_id": a.worker_id} for a in islice(asked, count_max)]


def next_effect(db: MemoryDatabase, addresses: Sequence[str]) -> Found:
    coming = (
        max(effect.due_at, effect.lease_until)
        for effect in db.table(Effect).values()
        if effect.state == "waiting" and effect.address in addresses
    )
    return [{"due_at": min(coming, default=None)}]


def count_effects(db: MemoryDatabase) -> Found:
    counts = Counter(effect.state for effect in db.table(Effect).values())
    return [{"state": state, "n": n} for state, n in counts.items()]


def count_dead_letters(db: MemoryDatabase, tenant: str) -> Found:
    letters = (row for row in db.table(DeadLetter).values() if tenant in (ALL, row.tenant))
    counts = Counter(letter.kind for letter in letters)
    return [{"kind": kind, "n": n} for kind, n in counts.items()]


def count_env_sessions(db: MemoryDatabase, tenant: str) -> Found:
    rows = [row for row in db.table(EnvSession).values() if tenant in (ALL, row.tenant)]
    alive = [row for row in rows if row.state is not EnvState.RELEASED]
    counts = Counter((row.kind, str(row.state)) for row in alive)
    return [{"kind": kind, "state": state, "n": n} for (kind, state), n in sorted(counts.items())]


def version_numbers(db: MemoryDatabase, ids: Sequence[str], tenant: str = ALL) -> Found:
    return [{"id": v.id, "number": v.number} for v in db.table(Version).values() if v.id in ids]


def params_begin(
    db: MemoryDatabase, ids: Sequence[str], chars_max: int, tenant: str = ALL
) -> Found:
    found = [row for row in db.table(Run).values() if row.id in ids]
    return [{"id": row.id, "beginning": row.params[:chars_max]} for row in found]


def shared_at(db: MemoryDatabase, run_id: str, tenant: str = ALL) -> Found:
    run = db.table(Run).get(run_id)
    if run is None:
        return []
    mine = [row for row in db.table(Variable).values() if row.scope == run_id]
    rows = sorted(mine, key=lambda row: row.key)
    found = [{"seq": run.seq, "key": row.key, "value": row.value} for row in rows]
    return found or [{"seq": run.seq, "key": None, "value": None}]


def queue_names(db: MemoryDatabase) -> Found:
    return [{"queue": queue} for queue in sorted(db.queues)]


def queued_runs(db: MemoryDatabase, queues: Sequence[str], count_max: int) -> Found:
    runs = dict.fromkeys(task.run_id for queue in queues for task in db.queued(queue))
    return [{"run_id": run_id} for run_id in list(runs)[:count_max]]


def unserved_tasks(
    db: MemoryDatabase, queues: Sequence[str], before: int, dialect: str, count_max: int
) -> Found:
    runs = db.table(Run)
    found = [
        task
        for queue in queues
        for task in db.queued(queue)
        if (task.ready_at or 0) <= before and runs[task.run_id].dialect == dialect
    ]
    found.sort(key=lambda task: task.ready_at or 0)
    return [{"id": task.id} for task in found[:count_max]]


def bound_runs(db: MemoryDatabase, worker_id: str, after: str, count_max: int) -> Found:
    bound = {row.run_id for row in db.table(Binding).values() if row.worker_id == worker_id}
    runs = db.table(Run)
    open_ = (run_id for run_id in sorted(bound) if run_id in runs and runs[run_id].state in _OPEN)
    return [{"run_id": run_id} for run_id in open_ if run_id > after][:count_max]


def held_by(db: MemoryDatabase, worker_id: str) -> Found:
    held = sorted(
        (a for a in db.live_attempts if a.worker_id == worker_id), key=lambda a: a.claimed_at
    )
    columns = ("id", "run_id", "queue", "state", "claimed_at", "lease_until")
    return [{column: getattr(a, column) for column in columns} for a in held]


def flow_names(db: MemoryDatabase, low: str, high: str, count_max: int, tenant: str = ALL) -> Found:
    names = {run.flow_name for run in db.table(Run).values() if low <= run.flow_name < high}
    return [{"name": name} for name in sorted(names)][:count_max]


def tags_between(
    db: MemoryDatabase, low: str, high: str, count_max: int, tenant: str = ALL
) -> Found:
    tags = {tag for run in db.table(Run).values() for tag in _tags(run.tags)}
    return [{"name": tag} for tag in sorted(tags) if low <= tag < high][:count_max]


def _tags(tags: str) -> set[str]:
    named: dict[str, str] = msgspec.json.decode(tags)
    return {f"{name}={value}"[:TAG_CHARS] for name, value in named.items()}


def is_published(version: Version) -> bool:
    return version.status == "published"


QUERIES: dict[str, Callable[..., Found]] = {
    query.__name__: query
    for query in (
        next_due,
        due_limits,
        sum_limits,
        used_bytes,
        count_runs,
        window_slices,
        window_flows,
        count_queues,
        count_held,
        stopping,
        next_effect,
        count_effects,
        count_dead_letters,
        count_env_sessions,
        flow_versions,
        expired_leases,
        detached_attempts,
        live_pods,
        ended_pods,
        attempts_of_pod,
        find_target,
        version_numbers,
        params_begin,
        shared_at,
        queue_names,
        queued_runs,
        unserved_tasks,
        bound_runs,
        held_by,
        flow_names,
        tags_between,
        log_pieces_after,
        log_pieces_before,
    )
}


def meets(row: Row, where: Sequence[Cond]) -> bool:
    """Whether a row meets all conditions; as in SQL, null meets none but `null`."""
    return all(_meets(getattr(row, column), op, value) for column, op, value in where)


def _meets(have: Any, op: str, value: Any) -> bool:
    if op == "null":
        return have is None
    if op == "not null":
        return have is not None
    if have is None or value is None:
        return False
    if op == "tagged":
        return any(
            f"{name}={text}"[:TAG_CHARS] in value
            for name, text in msgspec.json.decode(have).items()
        )
    if op == "in":
        return have in value
    if op == "like":
        return _like(value).fullmatch(have) is not None
    return _COMPARE[op](have, value)


@cache
def _like(pattern: str) -> re.Pattern[str]:
    """A LIKE pattern as a regular expression: `%`, `_`, and a backslash before either."""
    parts: list[str] = []
    escaped = False
    for char in pattern:
        if escaped or char not in "%_\\":
            parts.append(re.escape(char))
            escaped = False
        elif char == "\\":
            escaped = True
        else:
            parts.append(".*" if char == "%" else ".")
    return re.compile("".join(parts), re.DOTALL)


def listed(rows: list[R], where: Sequence[Cond], order: str, descending: bool) -> list[R]:
    """The rows that meet the conditions, by one column, nulls lowest."""
    found = [row for row in rows if meets(row, where)]
    if order == "created_at":
        found.sort(key=lambda row: row.pk, reverse=descending)
    found.sort(key=lambda row: _sortable(getattr(row, order)), reverse=descending)
    return found


def _sortable(value: Any) -> tuple[bool, Any]:
    return (False, 0) if value is None else (True, value)

"""Why: says what a run waits for, who holds it and until when, as reasons with values."""

from collections.abc import Sequence

import msgspec

from windlass.engine.engine import Engine
from windlass.engine.envs.why import allocating_reason, env_reason
from windlass.engine.flows import POCKETFLOW
from windlass.engine.installing import last_told
from windlass.engine.limits.why import limit_reason, run_reason
from windlass.engine.loops.unserved import FAILURES
from windlass.engine.pod_progress import PodProgress, progress_of
from windlass.engine.pod_records import PodSeen, seen_of
from windlass.engine.workers import PLAIN, live_workers, meta_of, serves
from windlass.kernel.checkpoints import is_held_back
from windlass.kernel.envs import is_allocating
from windlass.kernel.leases import is_held, is_planning
from windlass.kernel.verifying import is_looked_at
from windlass.model.envs import is_env_key
from windlass.model.graph import CONTAINERS, Kind
from windlass.model.ids import attempt_id
from windlass.model.limits import key_of
from windlass.model.pods import read_ref
from windlass.model.queues import owner_of, service_of, transport_of
from windlass.model.quotas import is_queued
from windlass.model.reasons import Reason, ReasonCode, ReasonValues, about
from windlass.model.rows import Attempt, Run, Task, read_failure
from windlass.model.states import ATTEMPT_LIVE, RUN_ENDED, AttemptState, Role, RunState, TaskState
from windlass.protocol.link.messages import SERVICES_PACKAGE
from windlass.protocol.reason_words import say, say_why

_TASKS_MAX = 20
LAUNCHES = "pod:"
"""What a server says it serves that launches pods, of whatever namespace."""


class TaskReason(msgspec.Struct, frozen=True):
    """Why one task stands where it stands."""

    task: str
    state: str
    reason: Reason
    at: int

    @property
    def text(self) -> str:
        return say(self.reason, self.at)


class Why(msgspec.Struct, frozen=True):
    """The reason for a run's state, and for each of its open tasks (the first few)."""

    reason: Reason
    at: int
    """The moment it was asked, by the database's clock."""
    tasks: list[TaskReason] = []
    more: int = 0
    """How many open tasks there are beside the one the reason is of."""
    cancelling: bool = False

    @property
    def line(self) -> str:
        return say_why(self.reason, self.at, more=self.more, cancelling=self.cancelling)


async def why(engine: Engine, run: Run) -> Why:
    """The reason for a run's state, then for each of its open tasks (the first few)."""
    now = engine.store.now()
    if run.state in RUN_ENDED:
        return Why(ended_reason(run), now)
    if is_queued(run):
        return Why(await run_reason(engine, run), now)
    broken = engine.graphs.broken(run.version_id)
    if broken is not None:
        return Why(Reason(ReasonCode.RUN_UNREADABLE, ReasonValues(message=str(broken))), now)
    async with engine.store.session() as session:
        tasks = [task for task in await session.open_tasks([run.id]) if not task.total]
        tasks = [task for task in tasks if task.kind not in CONTAINERS or is_planning(task)]
        tasks.sort(key=lambda task: (_ORDER.index(task.state), is_held_back(task), task.id))
        shown = tasks[:_TASKS_MAX]
        held = [attempt_id(t.id, t.attempts) for t in shown if is_held(t)]
        attempts = {row.task_id: row for row in await session.rows(Attempt, held)}
    reasons = [
        TaskReason(
            task.id, str(task.state), await task_reason(engine, task, attempts.get(task.id)), now
        )
        for task in shown
    ]
    if not reasons:
        return Why(Reason(ReasonCode.RUN_BETWEEN, ReasonValues(state=str(run.state))), now)
    cancelling = run.state is RunState.CANCELLING
    return Why(reasons[0].reason, now, reasons, len(tasks) - 1, cancelling)


_ORDER: Sequence[TaskState] = (
    TaskState.RUNNING,
    TaskState.QUEUED,
    TaskState.WAITING,
    TaskState.VERIFYING,
    TaskState.PENDING,
)
_ENDED = {
    RunState.SUCCEEDED: ReasonCode.RUN_SUCCEEDED,
    RunState.FAILED: ReasonCode.RUN_FAILED,
    RunState.CANCELLED: ReasonCode.RUN_CANCELLED,
}


def ended_reason(run: Run) -> Reason:
    failure = read_failure(run.error)
    code = _ENDED[run.state]
    if code is ReasonCode.RUN_FAILED and failure is not None:
        return Reason(code, ReasonValues(node=failure.node or "", message=failure.message))
    return Reason(code, ReasonValues(failures=run.failures))


async def task_reason(engine: Engine, task: Task, attempt: Attempt | None) -> Reason:
    """Why a task stands where it stands, named by its node."""
    found = await _task_reason(engine, task, attempt)
    return about(found, task.node, task.idx, found.values.role)


async def _task_reason(engine: Engine, task: Task, attempt: Attempt | None) -> Reason:
    until = task.due_at or engine.store.now()
    match task.state:
        case TaskState.RUNNING | TaskState.VERIFYING if (
            attempt is not None and attempt.state in ATTEMPT_LIVE
        ):
            return await held_reason(engine, attempt)
        case TaskState.QUEUED:
            role = Role.PLAN if task.kind == Kind.PLAN else Role.WORK
            return _with_role(await queue_reason(engine, task), role)
        case TaskState.VERIFYING if is_looked_at(task):
            return Reason(ReasonCode.VERIFY_LOOK, ReasonValues(until=until))
        case TaskState.VERIFYING if task.queue is None:
            return Reason(ReasonCode.VERIFY_PAUSE, ReasonValues(until=until))
        case TaskState.VERIFYING:
            return _with_role(await queue_reason(engine, task), Role.VERIFY)
        case TaskState.WAITING if is_held_back(task):
            return Reason(ReasonCode.HELD_BACK)
        case TaskState.WAITING if is_allocating(task):
            return await allocating_reason(engine, task)
        case TaskState.WAITING if task.parked is not None and is_env_key(key_of(task.parked)):
            return await env_reason(engine, task)
        case TaskState.WAITING if task.parked is not None:
            return await limit_reason(engine, task)
        case TaskState.WAITING:
            return waiting_reason(task)
        case TaskState.PENDING:
            return Reason(ReasonCode.BRANCHES)
        case _:
            return Reason(ReasonCode.TASK_STATE, ReasonValues(state=str(task.state)))


def _with_role(reason: Reason, role: Role) -> Reason:
    return about(reason, "", role=role)


async def held_reason(engine: Engine, attempt: Attempt) -> Reason:
    """Who holds an attempt, and until when."""
    if attempt.external_ref:
        return await pod_reason(engine, attempt)
    expired = attempt.lease_until <= engine.store.now()
    values = ReasonValues(
        role=attempt.role,
        worker=attempt.worker_id,
        attempt=attempt.number,
        until=attempt.lease_until,
        stopping=attempt.cancel_at is not None,
    )
    return Reason(ReasonCode.LEASE_EXPIRED if expired else ReasonCode.LEASE_HELD, values)


async def queue_reason(engine: Engine, task: Task) -> Reason:
    """Why nobody has taken a queued task yet."""
    transport, service = transport_of(task.queue or ""), service_of(task.queue or "")
    since = task.ready_at or task.created_at
    if transport in ("script", "local"):
        return await local_reason(engine, task, transport, service)
    if transport == "link":
        return await link_reason(engine, task, service, since)
    if transport == "pod":
        out = await is_launched(engine)
        code = ReasonCode.QUEUE_PODS_OUT if out else ReasonCode.QUEUE_NO_LAUNCHER
        return Reason(code, ReasonValues(since=since))
    alive = await live_workers(engine, transport=transport)
    able = [worker for worker in alive if serves(worker, service)]
    # A development server does the work of such workers itself.
    able += [
        worker
        for worker in await live_workers(engine, transport="control")
        if serves(worker, f"{transport}:{service}")
    ]
    if transport == "pull":
        # Workers on the link do work of theirs that comes with no package.
        linked = await live_workers(engine, transport="link")
        able += [worker for worker in linked if service in meta_of(worker).get(PLAIN, ())]
    if not able:
        return await unserved_reason(engine, task, transport, service)
    values = ReasonValues(since=since, workers=len(able), transport=transport, service=service)
    return Reason(ReasonCode.QUEUE_BUSY, values)


async def unserved_reason(engine: Engine, task: Task, transport: str, service: str) -> Reason:
    """That nobody serves a task, and who does so by another transport, which is the usual slip."""
    other_worker, other_transport = await other_server(engine, transport, service)
    values = ReasonValues(
        since=task.ready_at or task.created_at,
        transport=transport,
        service=service,
        other_worker=other_worker,
        other_transport=other_transport,
        fails_after_s=await fails_after_s(engine, task, transport),
    )
    return Reason(ReasonCode.QUEUE_NO_WORKER, values)


async def other_server(engine: Engine, transport: str, service: str) -> tuple[str, str]:
    for other in ("pull", "push"):
        alive = await live_workers(engine, transport=other) if other != transport else ()
        able = next((worker for worker in alive if serves(worker, service)), None)
        if able is not None:
            return able.id, other
    return "", ""


async def fails_after_s(engine: Engine, task: Task, transport: str) -> float:
    """When a call that nobody is there for fails; 0 where it does not."""
    if transport not in FAILURES:
        return 0.0
    async with engine.store.session() as session:
        runs = await session.rows(Run, [task.run_id])
    pocket = any(run.dialect == POCKETFLOW for run in runs)
    return float(engine.settings.no_worker_s) if pocket else 0.0


async def link_reason(engine: Engine, task: Task, service: str, since: int) -> Reason:
    """Why no worker on the link has taken a task of a package."""
    package, _, handler = service.partition(":")
    alive = await live_workers(engine, transport="link")
    owner = owner_of(task.queue)
    if owner is not None:
        there = any(worker.id == owner for worker in alive)
        code = ReasonCode.QUEUE_OWNER_BUSY if there else ReasonCode.QUEUE_OWNER_AWAY
        return Reason(code, ReasonValues(since=since, worker=owner))
    if package.startswith(f"{SERVICES_PACKAGE}@"):
        # No package: each worker's own services, whose work waits where pulled work does.
        values = ReasonValues(since=since, transport="link", service=handler)
        return Reason(ReasonCode.QUEUE_NO_WORKER, values)
    able = [worker for worker in alive if serves(worker, package)]
    if able:
        values = ReasonValues(since=since, workers=len(able), package=package)
        return Reason(ReasonCode.QUEUE_PACKAGE_BUSY, values)
    if not alive:
        return Reason(ReasonCode.QUEUE_NO_LINK, ReasonValues(since=since, package=package))
    told = last_told(alive, package)
    values = ReasonValues(
        since=since,
        workers=len(alive),
        package=package,
        install_worker="" if told is None else told.worker_id,
        install_at=0 if told is None else told.installing.asked_at,
        install_error="" if told is None else told.installing.error or "",
    )
    return Reason(ReasonCode.QUEUE_PACKAGE_MISSING, values)


async def pod_reason(engine: Engine, attempt: Attempt) -> Reason:
    """How far the pod of an attempt has come, as its launcher saw it last."""
    said, at = PodProgress(), 0
    if attempt.state is AttemptState.RUNNING:
        waits = Reason(ReasonCode.POD_RUNNING)
        said, at = await progress_of(engine, attempt.id) or (said, at)
    else:
        seen = (await seen_of(engine, [attempt.id])).get(attempt.id, PodSeen())
        waits = seen.waits_for or Reason(ReasonCode.POD_PENDING)
    values = msgspec.structs.replace(
        waits.values,
        pod=read_ref(attempt.external_ref).pod,
        attempt=attempt.number,
        stopping=attempt.cancel_at is not None,
        share=-1.0 if said.share is None else said.share,
        heard_at=at,
        message=said.message or waits.values.message,
    )
    return Reason(waits.code, values)


async def is_launched(engine: Engine) -> bool:
    """Whether any server that is up launches pods."""
    control = await live_workers(engine, transport="control")
    return any(LAUNCHES in msgspec.json.decode(row.services) for row in control)


async def local_reason(engine: Engine, task: Task, transport: str, service: str) -> Reason:
    """Why no process of the control plane has taken a task that only it can do."""
    control = await live_workers(engine, transport="control")
    values = ReasonValues(since=task.ready_at or task.created_at, service=service)
    if not control:
        return Reason(ReasonCode.QUEUE_NO_SERVER, values)
    able = any(f"{transport}:{service}" in msgspec.json.decode(row.services) for row in control)
    if able:
        return Reason(ReasonCode.QUEUE_SLOTS_BUSY, values)
    if transport == "script":
        return Reason(ReasonCode.QUEUE_SCRIPTS_OFF, values)
    fails_after = await fails_after_s(engine, task, transport)
    values = msgspec.structs.replace(values, fails_after_s=fails_after)
    return Reason(ReasonCode.QUEUE_NO_FUNCTION, values)


def waiting_reason(task: Task) -> Reason:
    until = task.due_at or 0
    match task.kind:
        case "timer":
            return Reason(ReasonCode.SLEEP, ReasonValues(until=until))
        case "wait":
            return Reason(ReasonCode.SIGNAL, ReasonValues(key=task.wait_key or "", until=until))
        case "approval":
            return Reason(ReasonCode.CHECKPOINT, ReasonValues(until=until))
        case _ if task.wait_key:
            return Reason(ReasonCode.CHECKPOINT, ReasonValues(until=until))
        case _:
            failure = read_failure(task.error)
            cause = failure.message if failure is not None else ""
            values = ReasonValues(until=until, attempt=task.attempts + 1, message=cause)
            return Reason(ReasonCode.RETRY_PAUSE, values)

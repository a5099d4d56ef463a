"""Why: says in one line what a run waits for, who holds it and until when."""

from collections.abc import Sequence

import msgspec

from windlass.engine.engine import Engine
from windlass.engine.envs.why import allocating_line, env_line
from windlass.engine.flows import POCKETFLOW
from windlass.engine.limits.why import limit_line, run_line
from windlass.engine.pod_progress import progress_line
from windlass.engine.workers import live_workers, serves
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
from windlass.model.rows import Attempt, Run, Task, read_failure
from windlass.model.states import ATTEMPT_LIVE, RUN_ENDED, AttemptState, Role, RunState, TaskState

_TASKS_MAX = 20
LAUNCHES = "pod:"
"""What a server says it serves that launches pods, of whatever namespace."""


class Reason(msgspec.Struct, frozen=True):
    """Why one task stands where it stands."""

    task: str
    state: str
    text: str


class Why(msgspec.Struct, frozen=True):
    line: str
    reasons: list[Reason] = []


async def why(engine: Engine, run: Run) -> Why:
    """The reason for a run's state, then for each of its open tasks (the first few)."""
    if run.state in RUN_ENDED:
        return Why(ended_line(run))
    if is_queued(run):
        return Why(f"waits to begin: {await run_line(engine, run)}")
    broken = engine.graphs.broken(run.version_id)
    if broken is not None:
        return Why(f"this program cannot read the run's definition: {broken}")
    async with engine.store.session() as session:
        tasks = [task for task in await session.open_tasks([run.id]) if not task.total]
        tasks = [task for task in tasks if task.kind not in CONTAINERS or is_planning(task)]
        tasks.sort(key=lambda task: (_ORDER.index(task.state), is_held_back(task), task.id))
        shown = tasks[:_TASKS_MAX]
        held = [attempt_id(t.id, t.attempts) for t in shown if is_held(t)]
        attempts = {row.task_id: row for row in await session.rows(Attempt, held)}
    reasons = [
        Reason(task.id, str(task.state), await task_line(engine, task, attempts.get(task.id)))
        for task in shown
    ]
    if not reasons:
        return Why(f"{run.state}: between two steps; it moves on with the next commit")
    more = f" (and {len(tasks) - 1} more)" if len(tasks) > 1 else ""
    prefix = "being cancelled: " if run.state is RunState.CANCELLING else ""
    return Why(prefix + reasons[0].text + more, reasons)


_ORDER: Sequence[TaskState] = (
    TaskState.RUNNING,
    TaskState.QUEUED,
    TaskState.WAITING,
    TaskState.VERIFYING,
    TaskState.PENDING,
)


_DOES = {Role.WORK: "runs on", Role.VERIFY: "is verified by", Role.PLAN: "is planned by"}


def ended_line(run: Run) -> str:
    failure = read_failure(run.error)
    if run.state is RunState.FAILED and failure is not None:
        return f'failed at "{failure.node}": {failure.message}'
    if run.failures:
        return f"{run.state}, with {run.failures} failed tasks on the way"
    return str(run.state)


async def task_line(engine: Engine, task: Task, attempt: Attempt | None) -> str:
    name = f'"{task.node}"' + (f"[{task.idx}]" if task.idx >= 0 else "")
    now = engine.store.now()
    match task.state:
        case TaskState.RUNNING | TaskState.VERIFYING if (
            attempt is not None and attempt.state in ATTEMPT_LIVE
        ):
            if attempt.external_ref:
                return f"{name} {await pod_line(engine, attempt)}"
            left = (attempt.lease_until - now) / 1000
            lease = (
                f"lease for {left:.0f} s more" if left > 0 else "lease expired, being taken back"
            )
            stop = ", asked to stop" if attempt.cancel_at is not None else ""
            does = _DOES[attempt.role]
            return f"{name} {does} {attempt.worker_id} (attempt {attempt.number}, {lease}{stop})"
        case TaskState.QUEUED if task.kind == Kind.PLAN:
            return f"{name} waits for its planner{await queue_line(engine, task)}"
        case TaskState.QUEUED:
            return f"{name} is queued{await queue_line(engine, task)}"
        case TaskState.VERIFYING if is_looked_at(task):
            left = ((task.due_at or now) - now) / 1000
            return f"{name} waits for a last look at its env, {left:.0f} s at most, to be judged"
        case TaskState.VERIFYING if task.queue is None:
            left = ((task.due_at or now) - now) / 1000
            return f"{name} waits {left:.0f} s before its verdict is asked for again"
        case TaskState.VERIFYING:
            return f"{name} waits for a verdict{await queue_line(engine, task)}"
        case TaskState.WAITING if is_held_back(task):
            return f"{name} is held back with the whole run until a question is answered"
        case TaskState.WAITING if is_allocating(task):
            return f"{name} {await allocating_line(engine, task)}"
        case TaskState.WAITING if task.parked is not None and is_env_key(key_of(task.parked)):
            return f"{name} {await env_line(engine, task)}"
        case TaskState.WAITING if task.parked is not None:
            return f"{name} waits: {await limit_line(engine, task)}"
        case TaskState.WAITING:
            return f"{name} {waiting_line(task, now)}"
        case TaskState.PENDING:
            return f"{name} waits for other branches to finish"
        case _:
            return f"{name} is {task.state}"


async def queue_line(engine: Engine, task: Task) -> str:
    """Why nobody has taken a queued task yet."""
    transport, service = transport_of(task.queue or ""), service_of(task.queue or "")
    since = (engine.store.now() - (task.ready_at or task.created_at)) / 1000
    if transport in ("script", "local"):
        return await local_line(engine, transport, service, since)
    if transport == "link":
        return await link_line(engine, task, service, since)
    if transport == "pod":
        return await launch_line(engine, since)
    alive = await live_workers(engine, transport=transport)
    able = [worker for worker in alive if serves(worker, service)]
    # A development server does the work of such workers itself.
    able += [
        worker
        for worker in await live_workers(engine, transport="control")
        if serves(worker, f"{transport}:{service}")
    ]
    if not able:
        others = await other_transports(engine, transport, service)
        fails = await fails_line(engine, task, transport)
        return f' for {since:.0f} s: no live {transport} worker serves "{service}"{others}{fails}'
    return f' for {since:.0f} s: all {len(able)} {transport} workers for "{service}" are busy'


_EXEC_TYPES = {"pull": "queue", "push": "http"}


async def other_transports(engine: Engine, transport: str, service: str) -> str:
    """Who serves the same by another transport, which is the usual slip."""
    for other, exec_type in _EXEC_TYPES.items():
        alive = await live_workers(engine, transport=other) if other != transport else ()
        able = next((worker for worker in alive if serves(worker, service)), None)
        if able is not None:
            hint = f"write exec_type: {exec_type}, or start it with --transport {transport}"
            return f"; {able.id} serves it by {other}: {hint}"
    return ""


async def fails_line(engine: Engine, task: Task, transport: str) -> str:
    """That a call which stays without a worker fails, where it does."""
    if transport != "push":
        return ""
    async with engine.store.session() as session:
        runs = await session.rows(Run, [task.run_id])
    if not any(run.dialect == POCKETFLOW for run in runs):
        return ""
    return f"; it fails after {engine.settings.no_worker_s:.0f} s without one"


async def link_line(engine: Engine, task: Task, service: str, since: float) -> str:
    """Why no worker on the link has taken a task of a package."""
    package = service.partition(":")[0]
    alive = await live_workers(engine, transport="link")
    owner = owner_of(task.queue)
    if owner is not None:
        there = any(worker.id == owner for worker in alive)
        state = "is busy" if there else "is not on the link; others may have it when it is given up"
        return f" for {since:.0f} s: it belongs to worker {owner}, which {state}"
    able = [worker for worker in alive if serves(worker, package)]
    if able:
        return f" for {since:.0f} s: all {len(able)} workers that have {package} are busy"
    if alive:
        told = engine.installing.get(package)
        more = "" if told is None else f"; {told.line(engine.store.now())}"
        return f" for {since:.0f} s: none of {len(alive)} workers on the link has {package}{more}"
    hint = "start one with `windlass worker packages --transport link`"
    return f" for {since:.0f} s: no worker on the link has {package}; {hint}"


async def pod_line(engine: Engine, attempt: Attempt) -> str:
    """How far the pod of an attempt has come, as its launcher saw it last."""
    pod = f"pod {read_ref(attempt.external_ref).pod}"
    stop = ", asked to stop" if attempt.cancel_at is not None else ""
    if attempt.state is AttemptState.RUNNING:
        said = await progress_line(engine, attempt.id)
        return f"runs in {pod} (attempt {attempt.number}{stop}){said}"
    waits = engine.system.pods_wait.get(attempt.id, "has not begun")
    return f"is {pod} (attempt {attempt.number}{stop}), which {waits}"


async def launch_line(engine: Engine, since: float) -> str:
    """Why nobody has made a pod of a task."""
    if await is_launched(engine):
        return f" for {since:.0f} s: as many pods are out as may be; see --kube-pods"
    hint = "start one with --kube-url, --kubeconfig or --kube-in-cluster"
    return f" for {since:.0f} s: no server launches pods; {hint}"


async def is_launched(engine: Engine) -> bool:
    """Whether any server that is up launches pods."""
    control = await live_workers(engine, transport="control")
    return any(LAUNCHES in msgspec.json.decode(row.services) for row in control)


async def local_line(engine: Engine, transport: str, service: str, since: float) -> str:
    """Why no process of the control plane has taken a task that only it can do."""
    control = await live_workers(engine, transport="control")
    if not control:
        return f" for {since:.0f} s: no control plane is running"
    able = any(f"{transport}:{service}" in msgspec.json.decode(row.services) for row in control)
    if able:
        return f" for {since:.0f} s: all slots for it are busy"
    if transport == "script":
        return " for a script, and scripts are off; start the server with --allow-scripts"
    return f' for {since:.0f} s: no server has a local function "{service}"'


def waiting_line(task: Task, now: int) -> str:
    left = f" for {(task.due_at - now) / 1000:.0f} s more" if task.due_at is not None else ""
    match task.kind:
        case "timer":
            return f"sleeps{left}"
        case "approval":
            until = f", expires in {(task.due_at - now) / 1000:.0f} s" if task.due_at else ""
            return f"waits for a person to answer{until}"
        case "wait":
            return f'waits for signal "{task.wait_key}"{left}'
        case _ if task.wait_key:
            return f"waits for a person to answer{left}"
        case _:
            failure = read_failure(task.error)
            cause = f" after: {failure.message}" if failure is not None else ""
            return f"waits{left} before attempt {task.attempts + 1}{cause}"

"""Overviews: the whole system in numbers, and a whole run in outline, without payloads."""

from collections import Counter, defaultdict

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from windlass.engine.engine import Engine
from windlass.engine.window_counts import SLICES, WindowCount
from windlass.engine.workers import count_workers
from windlass.engine.workflows import outline_of
from windlass.model.errors import BadRequest, NotFound
from windlass.model.ids import uuid7
from windlass.model.rows import Attempt, Checkpoint, Run, Task, Version
from windlass.model.states import RUN_ENDED, Role
from windlass.model.verdicts import Verdict, read_verdict
from windlass.ports.store import Cond
from windlass.protocol.api import TaskView
from windlass.protocol.exchange import Wire
from windlass.server.api.history import task_view
from windlass.server.api.runs import find
from windlass.server.caller import engine_of
from windlass.server.http import raw, reply
from windlass.server.routes import Route

_WINDOWS_MS = {"1h": 3_600_000, "24h": 86_400_000, "7d": 604_800_000}
_RUNS_MAX = 5_000
_LAST_MAX = 20
_FLOWS_MAX = 1_000
_TASKS_MAX = 50_000


class Bucket(Wire, frozen=True, kw_only=True):
    """Runs that began in one slice of the window, by how they stand."""

    at: int
    succeeded: int
    failed: int
    other: int


class FlowStats(Wire, frozen=True, kw_only=True):
    flow: str
    runs: int
    succeeded: int
    failed: int
    p95_ms: int | None
    last: list[tuple[str, str]]
    """The newest runs, id and state, oldest first."""


class QueueStats(Wire, frozen=True, kw_only=True):
    queue: str
    tasks: int
    oldest_ms: int


class StatsView(Wire, frozen=True, kw_only=True):
    at: int
    window_ms: int
    runs: dict[str, int]
    """All runs by state, whenever they began."""
    in_window: int
    capped: bool
    """Whether the window held more runs than durations and newest runs were taken from."""
    p95_ms: int | None
    buckets: list[Bucket]
    flows: list[FlowStats]
    queues: list[QueueStats]
    workers: dict[str, int]
    inbox: int


class OutlineTask(Wire, frozen=True, kw_only=True, array_like=True):
    """A task without its payloads. Its id lacks the run's, which they all begin with."""

    id: str
    node: str
    kind: str
    state: str
    step: int
    index: int
    attempts: int
    failures: int
    generation: int
    total: int
    failed: int
    action: str
    error: msgspec.Raw | None
    created_at: int
    started_at: int | None
    finished_at: int | None
    due_at: int | None


class OutlineAttempt(Wire, frozen=True, kw_only=True, array_like=True):
    """An attempt, in short; its id lacks the run's."""

    id: str
    state: str
    worker_id: str
    claimed_at: int
    finished_at: int | None
    role: str = "work"
    """`work`, `verify` or `plan`."""
    verdict: str = ""
    """What one that verifies has said: `accepted`, `rejected` or `ask`."""


class OutlinePlace(Wire, frozen=True, kw_only=True):
    """What a node of the graph stands for in the workflow."""

    path: str
    node: str
    role: str
    label: str
    type: str
    package: str
    version: str
    container: str


class OutlineView(Wire, frozen=True, kw_only=True):
    """A run's tasks and attempts. Events after `seq` apply on top of it."""

    id: str
    seq: int
    capped: bool
    tasks: list[OutlineTask]
    attempts: list[OutlineAttempt]
    places: list[OutlinePlace]
    """Of a run of a workflow: its nodes by the paths that tasks name; empty for other runs."""


async def stats(request: Request) -> Response:
    """Is it healthy, and what needs somebody: counts, outcomes over a window, queues, workers."""
    window = request.query_params.get("window", "24h")
    if window not in _WINDOWS_MS:
        raise BadRequest(f'no window "{window}"; there are {", ".join(_WINDOWS_MS)}')
    engine = engine_of(request)
    now, span = engine.store.now(), _WINDOWS_MS[window]
    counted = await engine.window_counts.get(engine.store, engine.tenant, span)
    # How long runs took, and which came last, is told by the newest of them.
    since = [Cond("id", ">=", uuid7(now - span, 0))]
    runs = await engine.store.page(Run, since, descending=True, limit=_RUNS_MAX, heavy=False)
    queues = await engine.store.query("count_queues")
    view = StatsView(
        at=now,
        window_ms=span,
        runs=await engine.run_counts.get(engine.store, engine.tenant),
        in_window=counted.total,
        capped=counted.total > _RUNS_MAX,
        p95_ms=p95(runs),
        buckets=buckets(counted, span),
        flows=flow_stats(counted, runs),
        queues=[
            QueueStats(queue=row["queue"], tasks=row["n"], oldest_ms=now - (row["oldest"] or now))
            for row in queues
        ],
        workers=await count_workers(engine),
        inbox=await engine.store.count(Checkpoint, [Cond("state", "=", "open")]),
    )
    return reply(view)


def buckets(counted: WindowCount, span: int) -> list[Bucket]:
    """Outcomes by when the run began, in equal slices of the window."""
    width = span // SLICES
    return [
        Bucket(
            at=counted.began_at + place * width,
            succeeded=counts["succeeded"],
            failed=counts["failed"],
            other=counts.total() - counts["succeeded"] - counts["failed"],
        )
        for place in range(SLICES)
        for counts in (counted.slices.get(place, Counter[str]()),)
    ]


def flow_stats(counted: WindowCount, newest: list[Run]) -> list[FlowStats]:
    """Runs by flow, the busiest first; `newest` are in that order."""
    by_flow: defaultdict[str, list[Run]] = defaultdict(list)
    for run in newest:
        by_flow[run.flow_name].append(run)
    busiest = sorted(counted.flows.items(), key=lambda item: -item[1].total())
    return [
        FlowStats(
            flow=flow,
            runs=counts.total(),
            succeeded=counts["succeeded"],
            failed=counts["failed"],
            p95_ms=p95(by_flow[flow]),
            last=[(run.id, str(run.state)) for run in reversed(by_flow[flow][:_LAST_MAX])],
        )
        for flow, counts in busiest[:_FLOWS_MAX]
    ]


def p95(runs: list[Run]) -> int | None:
    """How long all but the slowest twentieth of the ended runs took."""
    took = sorted(
        run.finished_at - run.created_at
        for run in runs
        if run.state in RUN_ENDED and run.finished_at is not None
    )
    return took[min(len(took) - 1, len(took) * 95 // 100)] if took else None


async def outline(request: Request) -> Response:
    """Every task and attempt of a run without payloads, to draw it from."""
    engine = engine_of(request)
    run = await find(request)
    where = [Cond("id", ">", f"{run.id}~"), Cond("id", "<", f"{run.id}\x7f")]
    tasks = await engine.store.page(Task, where, limit=_TASKS_MAX + 1, heavy=False)
    attempts = await engine.store.page(Attempt, where, limit=_TASKS_MAX + 1, heavy=False)
    verdicts = await verdicts_of(engine, run, attempts)
    view = OutlineView(
        id=run.id,
        seq=run.seq,
        capped=len(tasks) > _TASKS_MAX or len(attempts) > _TASKS_MAX,
        tasks=[outline_task(row) for row in tasks[:_TASKS_MAX]],
        attempts=[
            OutlineAttempt(
                id=row.id[len(run.id) :],
                state=str(row.state),
                worker_id=row.worker_id,
                claimed_at=row.claimed_at,
                finished_at=row.finished_at,
                role=str(row.role),
                verdict=verdicts.get(row.id, ""),
            )
            for row in attempts[:_TASKS_MAX]
        ],
        places=await places_of(engine, run),
    )
    return reply(view)


async def verdicts_of(engine: Engine, run: Run, attempts: list[Attempt]) -> dict[str, str]:
    """What was said by those that verify, of which only the outputs are read."""
    if all(attempt.role is not Role.VERIFY for attempt in attempts):
        return {}
    where = [Cond("run_id", "=", run.id), Cond("role", "=", str(Role.VERIFY))]
    rows = await engine.store.page(Attempt, where, limit=_TASKS_MAX)
    found = {row.id: read_verdict(row.output) for row in rows if row.output is not None}
    return {key: str(read.verdict) for key, read in found.items() if isinstance(read, Verdict)}


async def places_of(engine: Engine, run: Run) -> list[OutlinePlace]:
    async with engine.store.session() as session:
        found = await session.rows(Version, [run.version_id])
    if not found or found[0].dialect != "workflow":
        return []
    return [
        OutlinePlace(
            path=place.path,
            node=place.node,
            role=place.role,
            label=place.label,
            type=place.type,
            package=place.package,
            version=place.version,
            container=place.container,
        )
        for place in outline_of(engine, found[0]).values()
    ]


def outline_task(row: Task) -> OutlineTask:
    return OutlineTask(
        id=row.id[len(row.run_id) :],
        node=row.node,
        kind=row.kind,
        state=str(row.state),
        step=row.step,
        index=row.idx,
        attempts=row.attempts,
        failures=row.failures,
        generation=row.generation,
        total=row.total,
        failed=row.failed,
        action=row.action,
        error=raw(row.error),
        created_at=row.created_at,
        started_at=row.started_at,
        finished_at=row.finished_at,
        due_at=row.due_at,
    )


async def get_task(request: Request) -> Response:
    """One task with its input and output."""
    run = await find(request)
    place = request.path_params["task"]
    key = place if place.startswith(run.id) else f"{run.id}~{place.removeprefix('~')}"
    async with engine_of(request).store.session() as session:
        rows = await session.rows(Task, [key])
    if not rows:
        raise NotFound(f'run {run.id} has no task "{place}"')
    return reply(task_view(rows[0]))


ROUTES = [
    Route("GET", "/api/v1/stats", stats, gives=StatsView, query=("window",)),
    Route("GET", "/api/v1/runs/{id}/outline", outline, gives=OutlineView),
    Route("GET", "/api/v1/runs/{id}/tasks/{task}", get_task, gives=TaskView),
]

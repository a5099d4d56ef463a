"""Runs that bring their workflow along, and how they stand node by node."""

from collections import defaultdict
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import msgspec
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response

from windlass.dialects.workflow import host_path
from windlass.engine import runs, workflows
from windlass.engine.engine import Engine
from windlass.engine.workflows import outline_of
from windlass.model.errors import BadRequest, NotFound
from windlass.model.ids import task_of
from windlass.model.rows import Artifact, Attempt, Run, Version
from windlass.model.states import AttemptState, TaskState
from windlass.ports.store import Cond
from windlass.protocol.exchange import Wire
from windlass.server.compat.astraflow.views import (
    RunArtifact,
    RunNode,
    WorkflowRun,
    affinity_view,
    artifact_view,
    node_view,
    run_ref,
    run_view,
)
from windlass.server.http import parse_json, reply
from windlass.server.link.plane import LinkPlane

_ROWS_MAX = 100_000
_KEY_MAX = 64


class WorkflowBody(Wire, frozen=True, kw_only=True):
    """`POST /runs` with the workflow itself."""

    workflow: dict[str, Any]
    client_id: str
    priority: int = 0
    tags: dict[str, Any] | None = None


class Ready(msgspec.Struct, frozen=True):
    """A request that was read and checked: what to start, and under which tags."""

    published: workflows.PublishedWorkflow
    client_id: str
    tags: str
    priority: int


async def start(request: Request, engine: Engine, body: bytes) -> Response:
    """Start a run of the workflow in the body."""
    key = request.headers.get("idempotency-key", "")
    if len(key) > _KEY_MAX:
        raise BadRequest(f"an Idempotency-Key has at most {_KEY_MAX} characters")
    ready = await read_request(engine, body)
    started = await runs.start_run(
        engine,
        ready.published.target,
        "{}",
        key=key,
        tags=ready.tags,
        priority=ready.priority,
        request=f"{ready.published.hash} {ready.client_id}",
    )
    headers = {"Location": f"/api/v1/runs/{started.run.id}"}
    return reply(run_ref(started.run), 202, headers)


async def read_request(engine: Engine, body: bytes) -> Ready:
    """Read and check a request. The same bytes a moment later need no second look."""
    digest = sha256(body).hexdigest()
    known: Ready | None = workflows.recalled(engine, digest)
    if known is not None:
        return known
    given = parse_json(body, WorkflowBody)
    if not given.client_id:
        raise BadRequest("clientId says whose run it is; it may not be empty")
    workflows.check_is_workflow(given.workflow)
    await workflows.check_pins(engine, given.workflow)
    published = await workflows.publish_workflow(engine, given.workflow)
    tags = {**(given.tags or {}), "clientId": given.client_id, "definitionHash": published.hash}
    ready = Ready(
        published=published,
        client_id=given.client_id,
        tags=msgspec.json.encode(tags).decode(),
        priority=given.priority,
    )
    if b'"resource' not in body:  # whoever keeps a resource may be gone by then
        workflows.remember(engine, digest, ready)
    return ready


def is_workflow_run(run: Run) -> bool:
    return '"definitionHash"' in run.tags


async def whole_run(engine: Engine, link: LinkPlane, run: Run) -> WorkflowRun:
    """A run with every node of its workflow, begun or not."""
    async with engine.store.session() as session:
        tasks = await session.run_tasks(run.id)
        found = await session.rows(Version, [run.version_id])
    if not found:
        raise NotFound(f"run {run.id} is of a version that is gone")
    graph = await engine.graphs.load_of(run)
    attempts = await attempts_of(engine, run)
    made = await artifacts_of(engine, run, attempts)
    by_task: defaultdict[str, list[Artifact]] = defaultdict(list)
    for row in made:
        by_task[task_of(row.attempt_id)].append(row)
    standing = [task for task in tasks if task.state is not TaskState.SUPERSEDED]
    newest = {task.node: task for task in sorted(standing, key=lambda task: task.made_seq)}
    latest = {attempt.task_id: attempt for attempt in sorted(attempts, key=lambda a: a.number)}
    nodes: list[RunNode] = []
    for path, place in outline_of(engine, found[0]).items():
        if place.role not in ("node", "container", "middleware"):
            continue
        task = newest.get(path)
        # What a node with middlewares did is told by the task that stands behind them.
        doer = newest.get(host_path(path)) if place.middlewares else task
        attempt = latest.get(doer.id) if doer is not None else None
        mine = [artifact_view(row) for row in by_task[doer.id]] if doer is not None else []
        progress = link.feedback.progress.get(attempt.id) if attempt is not None else None
        view = node_view(place.node, task, attempt, mine, doer=doer, progress=progress)
        if place.middlewares:
            view = replace(view, middlewares=list(place.middlewares))
        planned = graph.nodes.get(path)
        if planned is not None and planned.affinity is not None:
            view = replace(view, affinity=affinity_view(planned.affinity))
        nodes.append(view)
    artifacts: list[RunArtifact] = [artifact_view(row) for row in made]
    return run_view(run, nodes, artifacts)


async def attempts_of(engine: Engine, run: Run) -> list[Attempt]:
    """Every attempt of a run; their ids begin with the run's."""
    below = [Cond("id", ">", f"{run.id}~"), Cond("id", "<", f"{run.id}\x7f")]
    return await engine.store.page(Attempt, below, limit=_ROWS_MAX)


async def artifacts_of(engine: Engine, run: Run, attempts: Sequence[Attempt]) -> list[Artifact]:
    """What the tasks of a run made, oldest first. A result that came too late was refused, and
    what it brought with it counts no more than the result."""
    good = {a.id for a in attempts if a.state is AttemptState.SUCCEEDED}
    where = [Cond("run_id", "=", run.id)]
    rows = await engine.store.page(Artifact, where, order="created_at", limit=_ROWS_MAX)
    return [row for row in rows if row.attempt_id in good]

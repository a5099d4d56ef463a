"""Lists of workflow runs and of what they made, in AstraFlow's words."""

from starlette.requests import Request
from starlette.responses import Response

from windlass.engine import runs
from windlass.model.errors import BadRequest, NotFound
from windlass.model.rows import Run, Version
from windlass.ports.store import Cond
from windlass.protocol.exchange import Wire
from windlass.server.caller import engine_of
from windlass.server.compat.astraflow.runs import artifacts_of, attempts_of, is_workflow_run
from windlass.server.compat.astraflow.views import (
    RUN_STATUS,
    RunArtifact,
    WorkflowRun,
    artifact_view,
    run_view,
    tags_of,
)
from windlass.server.compat.astraflow.workflows import definition_reply
from windlass.server.http import page_limit, reply, wants_native, whole_number
from windlass.server.paging import fetch_filtered
from windlass.server.routes import Route

PAGE_MAX = 200
PAGE_SIZE = 50
_ARTIFACTS_MAX = 100_000


class RunList(Wire, frozen=True, kw_only=True):
    items: list[WorkflowRun]
    next_cursor: str | None = None


class ArtifactList(Wire, frozen=True, kw_only=True):
    items: list[RunArtifact]
    next_cursor: str | None = None


def wants_list(request: Request) -> bool:
    """Whether a list of runs is asked for in AstraFlow's way; `q` holds our own grammar."""
    return not wants_native(request) and "q" not in request.query_params


async def list_runs(request: Request) -> Response:
    """Runs, oldest first, by `status` and `clientId`. Those of flows have no definition's hash."""
    query = request.query_params
    page_limit(request, PAGE_SIZE, PAGE_MAX)
    where: list[Cond] = []
    if status := query.get("status"):
        states = tuple(str(state) for state, name in RUN_STATUS.items() if name == status)
        if not states:
            known = ", ".join(dict.fromkeys(RUN_STATUS.values()))
            raise BadRequest(f'no status "{status}"; there are {known}')
        where.append(Cond("state", "in", states))
    client_id = query.get("clientId")
    if client_id is not None:
        where.append(Cond("tags", "like", '%"clientId"%'))
    rows, next_ = await fetch_filtered(
        request,
        Run,
        lambda run: client_id is None or tags_of(run).get("clientId") == client_id,
        where,
        descending=False,
        size_max=PAGE_MAX,
        heavy=False,
    )
    return reply(RunList(items=[run_view(run) for run in rows], next_cursor=next_))


async def definition(request: Request) -> Response:
    """The definition a run was started with, as it was submitted; it never changes."""
    engine = engine_of(request)
    run = await runs.get_run(engine, request.path_params["id"])
    async with engine.store.session() as session:
        found = await session.rows(Version, [run.version_id])
    if not found:
        raise NotFound(f"run {run.id} is of a version that is gone")
    digest = str(tags_of(run).get("definitionHash", "")) if is_workflow_run(run) else ""
    return definition_reply(request, found[0].source, digest)


async def list_artifacts(request: Request) -> Response:
    """What the tasks of a run made, oldest first, by `type`."""
    engine = engine_of(request)
    run = await runs.get_run(engine, request.path_params["id"])
    kind = request.query_params.get("type")
    made = await artifacts_of(engine, run, await attempts_of(engine, run))
    rows = [row for row in made if not kind or row.type == kind]
    rows.sort(key=lambda row: (row.created_at, row.attempt_id, row.resource_id))
    limit = page_limit(request, PAGE_SIZE, PAGE_MAX)
    start = whole_number(request, "cursor", 0, _ARTIFACTS_MAX)
    items = [artifact_view(row) for row in rows[start : start + limit]]
    next_ = str(start + limit) if len(rows) > start + limit else None
    return reply(ArtifactList(items=items, next_cursor=next_))


_ONE = "/api/v1/runs/{id}"
ROUTES = [
    Route("GET", f"{_ONE}/definition", definition),
    Route(
        "GET",
        f"{_ONE}/artifacts",
        list_artifacts,
        gives=ArtifactList,
        query=("type", "limit", "cursor"),
    ),
]

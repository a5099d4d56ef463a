"""Paths at which two surfaces answer: runs, in our own words or in AstraFlow's.

A run that brought its workflow along is AstraFlow's to whoever does not ask for our own media type.
"""

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from windlass.engine import runs
from windlass.model.rows import Run
from windlass.protocol.api import CancelBody, OkView, Page, RunView, StartBody, StartedView
from windlass.server.api import runs as native
from windlass.server.audit import line
from windlass.server.caller import engine_of
from windlass.server.compat.astraflow import listing
from windlass.server.compat.astraflow import runs as astraflow
from windlass.server.compat.astraflow.views import RunRef, WorkflowRun, run_ref
from windlass.server.context import context_of
from windlass.server.http import (
    parse_json,
    read_body,
    read_json,
    reply,
    wants_native,
    whole_number,
)
from windlass.server.routes import Route


async def start(request: Request) -> Response:
    """Start a run of a flow by its name, or of a workflow in the body; with an Idempotency-Key or
    requestId the same call twice starts one."""
    text = await read_body(request, context_of(request).body_bytes_max)
    if b'"workflow"' in text and "workflow" in parse_json(text, dict[str, msgspec.Raw]):
        return await astraflow.start(request, engine_of(request), text)
    return await native.start(request, text)


async def list_runs(request: Request) -> Response:
    """Workflow runs, oldest first; natively, or with `q`, runs of all kinds, newest first."""
    if listing.wants_list(request):
        return await listing.list_runs(request)
    return await native.list_runs(request)


async def get_run(request: Request) -> Response:
    """One run with its shared state; `waitMs` waits for its end that long."""
    engine = engine_of(request)
    wait_ms = whole_number(request, "waitMs", 0, 60_000)
    if wait_ms:
        run = await runs.wait_run(engine, request.path_params["id"], wait_ms / 1000)
    else:
        run = await native.find(request)
    if is_astraflows(request, run):
        return reply(await astraflow.whole_run(engine, context_of(request).link, run))
    return reply(await native.whole_run(request, run))


async def cancel(request: Request) -> Response:
    """Ask a run to stop: what waits ends now, what runs is told and given a moment."""
    body = await read_json(request, CancelBody)
    engine = engine_of(request)
    run = await native.find(request)
    noted = line(request, "run.cancel", "run", run.id, reason=body.reason)
    await runs.cancel(engine, run.id, body.reason, noted)
    if is_astraflows(request, run):
        return reply(run_ref(await runs.get_run(engine, run.id)), 202)
    return reply(OkView(), 202)


def is_astraflows(request: Request, run: Run) -> bool:
    return astraflow.is_workflow_run(run) and not wants_native(request)


_AT = "/api/v1/runs"
_ONE = _AT + "/{id}"
ROUTES = [
    Route(
        "POST",
        _AT,
        start,
        "operator",
        (StartBody, astraflow.WorkflowBody),
        (StartedView, RunRef),
        202,
        control=True,
        often=True,
    ),
    Route(
        "GET",
        _AT,
        list_runs,
        gives=(Page[RunView], listing.RunList),
        query=("q", "status", "clientId", "limit", "cursor"),
    ),
    Route("GET", _ONE, get_run, gives=(RunView, WorkflowRun), query=("waitMs",), often=True),
    Route(
        "POST",
        f"{_ONE}/cancel",
        cancel,
        "operator",
        CancelBody,
        (OkView, RunRef),
        202,
        control=True,
    ),
]

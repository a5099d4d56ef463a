"""Runs: start, list, read, steer. What AstraFlow has at the same paths is told apart in
`shared_paths`."""

from collections.abc import Mapping

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from windlass.engine import flows, plans, reruns, runs
from windlass.engine.deleting import delete_run
from windlass.engine.engine import Engine
from windlass.engine.filters import found_by
from windlass.engine.goals import goal_of, goals_of
from windlass.engine.why import why
from windlass.engine.workflows import up_to_date
from windlass.model.access import Audit
from windlass.model.budgets import load_budget, written
from windlass.model.errors import BadRequest, WindlassError
from windlass.model.reasons import Reason
from windlass.model.rows import Run
from windlass.protocol.api import (
    BulkBody,
    BulkFailure,
    BulkView,
    OkView,
    Page,
    PriorityBody,
    RetryBody,
    RetryView,
    RunView,
    SignalBody,
    StartBody,
    StartedView,
)
from windlass.protocol.reasons_api import ReasonView, TaskReasonView, WhyView
from windlass.server.audit import line
from windlass.server.caller import engine_of
from windlass.server.http import (
    parse_json,
    raw,
    read_json,
    reply,
)
from windlass.server.paging import fetch_page
from windlass.server.routes import Route
from windlass.server.version_numbers import version_numbers

_BULK_MAX = 10_000


async def start(request: Request, text: bytes) -> Response:
    """Start a run of a flow by its name, or for a goal."""
    engine = engine_of(request)
    body = parse_json(text, StartBody)
    if "definitionHash" in body.tags:
        raise BadRequest(
            'the tag "definitionHash" is kept for runs that bring their workflow along'
        )
    if body.dialect == "plan":
        return await start_plan(request, body)
    if body.dialect or not body.flow:
        raise BadRequest('name a flow to run, or give {"dialect": "plan", "goal": …}')
    target = await flows.find_target(engine, body.flow, body.version)
    if not body.version:
        target = await up_to_date(engine, target)
    started = await runs.start_run(
        engine,
        target,
        msgspec.json.encode(body.params).decode(),
        key=request.headers.get("idempotency-key") or body.request_id,
        tags=msgspec.json.encode(body.tags).decode(),
        priority=body.priority,
        budget=body.budget,
        project=body.project,
        request=msgspec.json.encode(body, order="sorted").decode(),
    )
    return started_view(started, target)


async def start_plan(request: Request, body: StartBody) -> Response:
    """Start a run for a goal."""
    settings = {
        "goal": body.goal,
        "input": body.input,
        "plan": body.plan,
        "planner_profile": body.planner_profile,
        "worker_profile": body.worker_profile,
        "profiles": body.profiles,
        "output_schema": body.output_schema,
        "on_failure": body.on_failure,
        "limits": body.limits,
    }
    started, target = await plans.start(
        engine_of(request),
        {name: value for name, value in settings.items() if value is not None},
        key=request.headers.get("idempotency-key") or body.request_id,
        tags=msgspec.json.encode(body.tags).decode(),
        priority=body.priority,
        budget=body.budget,
        project=body.project,
    )
    return started_view(started, target)


def started_view(started: runs.Started, target: flows.Startable) -> Response:
    run = started.run
    view = StartedView(
        id=run.id,
        flow=run.flow_name,
        version=target.number,
        state=str(run.state),
        created=started.created,
        priority=run.priority,
        tags=msgspec.json.decode(run.tags),
    )
    return reply(view, 202, {"Location": f"/api/v1/runs/{run.id}"})


async def list_runs(request: Request) -> Response:
    """Runs of all kinds, newest first, without parameters."""
    engine = engine_of(request)
    where = await found_by(engine.store, request.query_params.get("q", ""))
    rows, next_ = await fetch_page(request, Run, where, heavy=False)
    numbers = await version_numbers(request, rows)
    goals = await goals_of(engine, rows)
    items = [run_view(row, numbers, goals.get(row.id, "")) for row in rows]
    return reply(Page(items=items, next=next_))


async def whole_run(request: Request, run: Run) -> RunView:
    """One run with its shared state."""
    run, shared = await runs.snapshot(engine_of(request), run)
    numbers = await version_numbers(request, [run])
    params = msgspec.Raw(run.params.encode())
    return run_view(run, numbers, goal_of(run), params, shared)


def run_view(
    run: Run,
    versions: Mapping[str, int],
    goal: str,
    params: msgspec.Raw | None = None,
    shared: dict[str, msgspec.Raw] | None = None,
) -> RunView:
    return RunView(
        id=run.id,
        flow=run.flow_name,
        flow_id=run.flow_id,
        version_id=run.version_id,
        version=versions.get(run.version_id),
        state=str(run.state),
        goal=goal,
        params=params,
        shared=shared,
        output=shared.get("output") if shared and run.dialect == "plan" else None,
        dialect=run.dialect,
        error=raw(run.error),
        node=run.node,
        action=run.action,
        failures=run.failures,
        open=run.open,
        seq=run.seq,
        generation=run.generation,
        revision=run.graph_rev,
        tags=msgspec.Raw(run.tags.encode()),
        priority=run.priority,
        budget=written(load_budget(run.budget)),
        project=run.project,
        request_id=run.request_id,
        created_at=run.created_at,
        started_at=run.started_at,
        updated_at=run.updated_at,
        finished_at=run.finished_at,
    )


async def find(request: Request) -> Run:
    """The run a path names, by its id or the beginning of it."""
    return await runs.get_run(engine_of(request), request.path_params["id"])


async def get_why(request: Request) -> Response:
    """Why the run stands where it stands, in one line, and task by task."""
    found = await why(engine_of(request), await find(request))
    tasks = [
        TaskReasonView(task=r.task, state=r.state, text=r.text, reason=reason_view(r.reason))
        for r in found.tasks
    ]
    view = WhyView(
        line=found.line,
        reason=reason_view(found.reason),
        at=found.at,
        more=found.more,
        cancelling=found.cancelling,
        reasons=tasks,
    )
    return reply(view)


def reason_view(reason: Reason) -> ReasonView:
    return ReasonView(code=reason.code, values=reason.values)


async def set_priority(request: Request) -> Response:
    """Let what waits of a run go before others, or after them, from now on."""
    body = await read_json(request, PriorityBody)
    run = await find(request)
    noted = line(request, "run.priority", "run", run.id, priority=body.priority)
    await runs.set_priority(engine_of(request), run.id, body.priority, noted)
    return reply(OkView())


async def signal(request: Request) -> Response:
    """Set a shared key from outside; waits for it go on."""
    body = await read_json(request, SignalBody)
    run = await find(request)
    noted = line(request, "run.signal", "run", run.id, key=body.key)
    await runs.signal(engine_of(request), run.id, body.key, body.value, noted)
    return reply(OkView())


async def retry(request: Request) -> Response:
    """Do a failed task again, or (`from`) a task and all that came after it."""
    body = await read_json(request, RetryBody)
    engine = engine_of(request)
    run = await find(request)
    task, redone = await runs.redo_preview(engine, run, body.task, descendants=body.from_)
    if not body.dry_run:
        noted = line(request, "run.retry", "run", run.id, task=task.id, descendants=body.from_)
        await runs.retry(engine, run.id, body.task and task.id, body.from_, noted)
    return reply(RetryView(task=task.id, redone=redone), 200 if body.dry_run else 202)


async def delete(request: Request) -> Response:
    """Delete a run that has ended, with its tasks, events, logs and shared values."""
    run = await find(request)
    noted = line(request, "run.delete", "run", run.id, flow=run.flow_name)
    await delete_run(engine_of(request), run, noted)
    return reply(OkView())


async def rerun(request: Request) -> Response:
    """Start a new run of the same version with the same parameters."""
    engine = engine_of(request)
    run = await find(request)
    key = request.headers.get("idempotency-key", "")
    started, target = await reruns.rerun(
        engine, run, key, lambda new: line(request, "run.rerun", "run", new.id, of=run.id)
    )
    return started_view(started, target)


async def bulk(request: Request) -> Response:
    """Cancel or retry every run a filter matches; `dryRun` only counts them."""
    body = await read_json(request, BulkBody)
    engine = engine_of(request)
    if body.action not in ("cancel", "retry"):
        raise BadRequest(f'no bulk action "{body.action}"; there are cancel and retry')
    if not body.q.strip():
        raise BadRequest("a bulk action needs a filter; flow:* would be everything")
    where = await found_by(engine.store, body.q)
    rows = await engine.store.page(Run, where, descending=True, limit=_BULK_MAX, heavy=False)
    done, failed = 0, list[BulkFailure]()
    for row in rows if not body.dry_run else ():
        try:
            noted = line(request, f"run.{body.action}", "run", row.id, bulk=body.q)
            await act(engine, row.id, body.action, noted)
            done += 1
        except WindlassError as error:
            failed.append(BulkFailure(id=row.id, detail=str(error)))
    return reply(BulkView(matched=len(rows), done=done, failed=failed))


async def act(engine: Engine, run_id: str, action: str, noted: Audit) -> None:
    if action == "cancel":
        await runs.cancel(engine, run_id, "bulk", noted)
    else:
        await runs.retry(engine, run_id, None, False, noted)


_AT = "/api/v1/runs"
_ONE = _AT + "/{id}"
ROUTES = [
    Route("POST", f"{_AT}/bulk", bulk, "operator", BulkBody, BulkView, control=True),
    Route("DELETE", _ONE, delete, "operator", None, OkView, control=True),
    Route("GET", f"{_ONE}/why", get_why, gives=WhyView),
    Route(
        "POST",
        f"{_ONE}/priority",
        set_priority,
        "operator",
        PriorityBody,
        OkView,
        control=True,
    ),
    Route("POST", f"{_ONE}/signal", signal, "operator", SignalBody, OkView, control=True),
    Route("POST", f"{_ONE}/retry", retry, "operator", RetryBody, RetryView, 202, control=True),
    Route("POST", f"{_ONE}/rerun", rerun, "operator", None, StartedView, 202, control=True),
]

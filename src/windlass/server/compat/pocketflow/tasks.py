"""Runs, which this surface calls tasks."""

import contextlib
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from windlass.engine import flows, runs
from windlass.engine.engine import Engine
from windlass.model.errors import BadRequest, Conflict, NotFound
from windlass.model.ids import as_written
from windlass.model.rows import Attempt, Run
from windlass.model.states import RunState
from windlass.ports.store import Cond
from windlass.server.audit import line
from windlass.server.caller import engine_of
from windlass.server.compat.pocketflow.flows import paging, params_text
from windlass.server.compat.pocketflow.names import (
    OK,
    STATES,
    bare,
    number_field,
    seconds,
    status_text,
    text_field,
)
from windlass.server.compat.pocketflow.noderuns import node_runs
from windlass.server.compat.pocketflow.runtime import only_pull_is_out, runtime_state
from windlass.server.http import reply
from windlass.server.log_texts import log_texts, whole_log
from windlass.server.loose_fields import read_fields
from windlass.server.version_numbers import version_numbers


async def create(request: Request) -> Response:
    """Start a run of a flow's newest published version, or of the one named."""
    fields = await read_fields(request)
    engine = engine_of(request)
    flow_id = bare(text_field(fields, "FlowID", required=True), "flow")
    number = max(0, number_field(fields, "Version"))
    target = await flows.find_target(engine, flow_id, number)
    params = params_text(fields.get("paramsjson"))
    started = await runs.start_run(
        engine,
        target,
        params,
        # What was asked for, which a version published in between does not change.
        request=f"{flow_id}\n{number}\n{params}",
        key=request.headers.get("idempotency-key") or text_field(fields, "request_id"),
    )
    return reply({"id": f"task-{started.run.id}"})


async def list_tasks(request: Request) -> Response:
    """Runs, newest first, by status and version."""
    engine = engine_of(request)
    page, size = paging(request)
    where: list[Cond] = []
    status = request.query_params.get("status", "")
    if status:
        if status not in STATES:
            raise BadRequest(f'no status "{status}"; there are {", ".join(STATES)}')
        where.append(Cond("state", "in", STATES[status]))
    if version := request.query_params.get("flow_version_id"):
        where.append(Cond("version_id", "=", bare(version, "ver")))
    rows = await engine.store.page(
        Run, where, descending=True, limit=size, offset=(page - 1) * size
    )
    numbers = await version_numbers(request, rows)
    data = [await task_json(engine, row, numbers) for row in rows]
    total = await engine.store.count(Run, where)
    return reply({"data": data, "total": total, "page": page, "size": size})


async def task_json(engine: Engine, run: Run, numbers: dict[str, int]) -> dict[str, Any]:
    run, shared = await runs.snapshot(engine, run)
    state: dict[str, Any] = dict(shared)
    status = status_text(run)
    if run.open:
        if extra := await runtime_state(engine, run):
            state["_rt"] = extra
        if run.state is RunState.RUNNING and await only_pull_is_out(engine, run):
            status = "waiting_queue"
    return {
        "id": f"task-{run.id}",
        "flow_version_id": f"ver-{run.version_id}",
        "flow_id": f"flow-{run.flow_id}",
        "flow_name": run.flow_name,
        "flow_version": numbers.get(run.version_id, 0),
        "status": status,
        "params_json": run.params,
        "shared_json": msgspec.json.encode(state, order="sorted").decode(),
        "current_node_key": as_written(run.node),
        "last_action": "canceled" if run.state is RunState.CANCELLED else run.action,
        "step_count": run.made,
        "retry_state_json": "{}",
        "lease_owner": "",
        "lease_expiry": 0,
        "request_id": run.request_id,
        "error": msgspec.json.decode(run.error)["message"] if run.error else "",
        "created_at": seconds(run.created_at),
        "updated_at": seconds(run.updated_at),
    }


async def find(request: Request, name: str) -> Run:
    return await find_task(request, request.query_params.get(name, ""))


async def find_task(request: Request, given: str) -> Run:
    """A run by its whole id: clients of this surface know no other way to name one."""
    where = [Cond("id", "=", bare(given, "task"))]
    found = await engine_of(request).store.page(Run, where, limit=1)
    if not found:
        raise NotFound("not found")
    return found[0]


async def get_task(request: Request) -> Response:
    """One run with its shared state."""
    engine = engine_of(request)
    run = await find(request, "id")
    return reply(await task_json(engine, run, await version_numbers(request, [run])))


async def run_once(request: Request) -> Response:
    """Runs advance by themselves and no caller holds their lease, so this is always a mismatch."""
    await find(request, "id")
    return reply({"error": "lease_mismatch"}, 409)


async def cancel(request: Request) -> Response:
    """Ask a run to stop."""
    run = await find(request, "id")
    await runs.cancel(engine_of(request), run.id, "", line(request, "run.cancel", "run", run.id))
    return reply(OK)


async def list_runs(request: Request) -> Response:
    """Every visit and attempt of a run, in order."""
    return reply(await node_runs(engine_of(request), await find(request, "task_id")))


async def logs(request: Request) -> Response:
    """What an attempt wrote, as far as its worker sent it here; also while it runs."""
    run_id = request.query_params.get("run_id", "")
    if not run_id:
        raise BadRequest("missing run_id")
    where = [Cond("id", "=", bare(run_id, "run"))]
    rows = await engine_of(request).store.page(Attempt, where, limit=1)
    if not rows:
        raise NotFound("run not found")
    said = await log_texts(request, rows)
    content = whole_log(rows[0], said.get(rows[0].id))
    if content is None:
        raise NotFound("no log")
    return reply({"content": content})


async def signal(request: Request) -> Response:
    """Set a shared key from outside; waits for it go on. Nothing comes of it once the run has
    ended, which is no mistake of whoever sends it."""
    fields = await read_fields(request)
    task_id, key = text_field(fields, "task_id"), text_field(fields, "key")
    if not task_id or not key:
        raise BadRequest("bad request: task_id and key are needed")
    engine = engine_of(request)
    run = await find_task(request, task_id)
    value = msgspec.json.encode(fields.get("value")).decode()
    noted = line(request, "run.signal", "run", run.id, key=key)
    with contextlib.suppress(Conflict):
        await runs.signal(engine, run.id, key, value, noted)
    return reply(OK)

"""Runs: begin, list, cancel, look at."""

from functools import partial
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from windlass.engine import plans
from windlass.engine import runs as engine_runs
from windlass.engine.engine import Engine
from windlass.engine.filters import found_by
from windlass.model.errors import BadRequest
from windlass.model.rows import Run, Task
from windlass.model.states import RUN_ENDED
from windlass.model.values import is_object
from windlass.ports.store import Cond
from windlass.server.audit import line
from windlass.server.caller import engine_of, who
from windlass.server.compat.memoh import words
from windlass.server.compat.memoh.history import check_seq, record_at
from windlass.server.compat.memoh.record import find_run, root_id, run_line, run_view
from windlass.server.compat.memoh.wire import Body, keyed, read_change
from windlass.server.http import reply, whole_number
from windlass.server.paging import fetch_page

Object = dict[str, Any]


class StartBody(Body, frozen=True, kw_only=True):
    goal: str = ""
    bot_id: str = ""
    input: Any = None
    output_schema: Object | None = None
    requested_control_policy: Object = msgspec.field(default_factory=dict[str, Any])
    source_metadata: Object = msgspec.field(default_factory=dict[str, Any])
    policies: Object = msgspec.field(default_factory=dict[str, Any])
    plan: Any = None
    worker_profile: str = ""
    planner_profile: str = ""
    profiles: Object | None = None


class CancelBody(Body, frozen=True, kw_only=True):
    run_id: str = ""
    reason: str = ""


async def start(request: Request) -> Response:
    """Begin a run for a goal."""
    body = await read_change(request, StartBody)
    bot = body.bot_id or str(body.source_metadata.get("bot_id", ""))
    source = {
        "bot_id": bot,
        "created_by": who(request).name,
        "source_metadata": body.source_metadata,
        "requested_control_policy": body.requested_control_policy,
        "policies": body.policies,
    }
    given: Object = {
        "goal": body.goal,
        "input": body.input,
        "plan": body.plan,
        "output_schema": body.output_schema or None,
        "planner_profile": body.planner_profile or None,
        "worker_profile": body.worker_profile or None,
        "profiles": body.profiles,
        "on_failure": body.policies.get("on_failure"),
        "limits": limits_of(body.requested_control_policy),
        "source": source,
    }
    tags = msgspec.json.encode({"bot": bot} if bot else {}).decode()
    started, _ = await plans.start(
        engine_of(request),
        {name: value for name, value in given.items() if value is not None},
        key=f"memoh start_run {body.idempotency_key}",
        tags=tags,
    )
    run_id = started.run.id
    return reply({"run_id": run_id, "root_task_id": root_id(run_id), "snapshot_seq": 1}, 201)


def limits_of(policy: Object) -> Any:
    limits = policy.get("runtime_limits")
    if limits is not None and not is_object(limits):
        raise BadRequest("requested_control_policy.runtime_limits must be an object")
    return limits


async def list_runs(request: Request) -> Response:
    """Runs of plans, newest first."""
    engine = engine_of(request)
    where = [Cond("dialect", "=", "plan")]
    bot = request.path_params.get("bot_id") or request.query_params.get("bot_id")
    if bot:
        where += await found_by(engine.store, f'tag:"bot={bot}"')
    status = request.query_params.get("lifecycle_status", "")
    if status:
        states = {s for word in status.split(",") for s in words.RUN_STATES.get(word, ())}
        if not all(word in words.RUN_STATES for word in status.split(",")):
            raise BadRequest(f"lifecycle_status is of {', '.join(words.RUN_STATES)}")
        where.append(Cond("state", "in", tuple(sorted(states))))
    rows, next_ = await fetch_page(request, Run, where, size_max=200)
    plans_of = await planning_tasks(engine, rows)
    items = [run_line(row, plans_of.get(root_id(row.id))) for row in rows]
    if status:
        items = [item for item in items if item["lifecycle_status"] in status.split(",")]
    return reply({"items": items, "next_cursor": next_})


async def planning_tasks(engine: Engine, rows: list[Run]) -> dict[str, Task]:
    keys = [root_id(row.id) for row in rows if row.state not in RUN_ENDED]
    async with engine.store.session() as session:
        return {task.id: task for task in await session.rows(Task, keys)} if keys else {}


async def cancel(request: Request) -> Response:
    """Ask a run to stop; one that has been asked already, or is cancelled, is not asked again."""
    run = await find_run(request)
    body = await read_change(request, CancelBody, run_id=run.id)
    engine = engine_of(request)
    if words.run_status(run) not in _STOPPING:
        noted = line(request, "run.cancel", "run", run.id, reason=body.reason)
        act = partial(engine_runs.cancel, engine, run.id, body.reason, noted)
        await keyed(request, "cancel_run", run.id, body).once(run.id, act)
    run = await engine_runs.get_run(engine, run.id)
    status = words.run_status(run)
    return reply({"run_id": run.id, "lifecycle_status": status, "snapshot_seq": run.seq})


_STOPPING = ("cancelling", "cancelled")


async def snapshot(request: Request) -> Response:
    """A run as it stands, or stood after one of its events."""
    engine = engine_of(request)
    run = await find_run(request)
    seq = check_seq(run, whole_number(request, "as_of_seq", 0, 2**53))
    record, _ = await record_at(engine, run, seq)
    output = None
    if record.run.state == "succeeded" and seq == run.seq:
        shared = await engine_runs.shared_of(engine, run.id)
        output = shared.get("output")
    return reply({"run": run_view(record.run, record.root, output), "snapshot_seq": seq})

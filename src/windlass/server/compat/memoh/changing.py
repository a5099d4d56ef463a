"""Changes to a run that goes on: hints, tasks cancelled and retried, questions and answers."""

from datetime import UTC, datetime
from functools import partial
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from windlass.engine import blackboard, steering
from windlass.engine import runs as engine_runs
from windlass.kernel.checkpoints import from_outside_id
from windlass.model.errors import BadRequest, NotFound
from windlass.model.hints import Hint, HintKind
from windlass.model.ids import run_of
from windlass.model.questions import read_request
from windlass.model.rows import Checkpoint
from windlass.model.values import is_object
from windlass.server.audit import line
from windlass.server.caller import engine_of, who
from windlass.server.compat.memoh.record import checkpoint_view, find_run
from windlass.server.compat.memoh.wire import Body, keyed, read_change
from windlass.server.http import reply

Object = dict[str, Any]


class HintPart(msgspec.Struct, frozen=True, kw_only=True):
    kind: str = ""
    summary: str = ""
    details: Object = msgspec.field(default_factory=dict[str, Any])
    target_task_id: str = ""


class HintBody(Body, frozen=True, kw_only=True):
    run_id: str = ""
    hint: HintPart = HintPart()


class TaskBody(Body, frozen=True, kw_only=True):
    run_id: str = ""
    task_id: str = ""
    reason: str = ""


class QuestionBody(Body, frozen=True, kw_only=True):
    run_id: str = ""
    task_id: str = ""
    blocks_run: bool = False
    question: str = ""
    options: list[Object] = msgspec.field(default_factory=list[Object])
    default_action: Object | None = None
    resume_policy: Object | None = None
    timeout_at: str = ""
    severity: str = ""
    reason_code: str = ""
    metadata: Object = msgspec.field(default_factory=dict[str, Any])


class ResolveBody(Body, frozen=True, kw_only=True):
    checkpoint_id: str = ""
    mode: str = ""
    option_id: str = ""
    freeform_input: str = ""
    metadata: Object = msgspec.field(default_factory=dict[str, Any])


async def seq_after(request: Request, run_id: str) -> int:
    return (await engine_runs.get_run(engine_of(request), run_id)).seq


async def hint(request: Request) -> Response:
    """Tell a run something, or have it planned anew."""
    run = await find_run(request)
    body = await read_change(request, HintBody, run_id=run.id)
    part = body.hint
    if part.kind not in list(HintKind):
        raise BadRequest(f"hint unsupported: kind is one of {', '.join(HintKind)}")
    given = Hint(HintKind(part.kind), part.summary, part.details, part.target_task_id)
    noted = line(request, "run.hint", "run", run.id, kind=part.kind, summary=part.summary)
    by = who(request).name
    act = partial(steering.hint, engine_of(request), run.id, given, noted, by=by)
    await keyed(request, "inject_hint", run.id, body).once(run.id, act)
    seq = await seq_after(request, run.id)
    planning = f"{run.id}:{seq}" if given.kind is HintKind.REPLAN_REQUEST else None
    return reply({"run_id": run.id, "orchestration_intent_id": planning, "snapshot_seq": seq})


async def cancel_task(request: Request) -> Response:
    """Do without a task, and with what depends on it."""
    run, task_id = await find_run(request), request.path_params["task_id"]
    body = await read_change(request, TaskBody, run_id=run.id, task_id=task_id)
    check_place(run.id, task_id)
    noted = line(request, "task.cancel", "task", task_id, reason=body.reason)
    act = partial(steering.cancel_task, engine_of(request), task_id, body.reason, noted)
    await keyed(request, "cancel_task", task_id, body).once(task_id, act)
    return await task_answer(request, run.id, task_id)


async def retry_task(request: Request) -> Response:
    """Do a failed task again, with what was given up because of it."""
    run, task_id = await find_run(request), request.path_params["task_id"]
    body = await read_change(request, TaskBody, run_id=run.id, task_id=task_id)
    check_place(run.id, task_id)
    noted = line(request, "run.retry", "run", run.id, task=task_id)
    act = partial(engine_runs.retry, engine_of(request), run.id, task_id, False, noted)
    await keyed(request, "retry_task", task_id, body).once(task_id, act)
    return await task_answer(request, run.id, task_id)


def check_place(run_id: str, task_id: str) -> None:
    if not task_id.startswith(f"{run_id}~"):
        raise NotFound(f'run {run_id} has no task "{task_id}"')


async def task_answer(request: Request, run_id: str, task_id: str) -> Response:
    seq = await seq_after(request, run_id)
    return reply({"task_id": task_id, "run_id": run_id, "snapshot_seq": seq})


async def ask(request: Request) -> Response:
    """Have a person asked before a task goes on."""
    engine = engine_of(request)
    run, task_id = await find_run(request), request.path_params["task_id"]
    body = await read_change(request, QuestionBody, run_id=run.id, task_id=task_id)
    check_place(run.id, task_id)
    if not body.options:
        raise BadRequest("options are required: at least one answer to choose or to write")
    asked = read_request(
        {
            "question": body.question,
            "options": body.options,
            "default_action": body.default_action,
            "timeout_seconds": seconds_left(body.timeout_at, engine.store.now()),
            "severity": body.severity,
            "reason_code": body.reason_code,
            "blocks_run": body.blocks_run,
            "resume_policy": body.resume_policy,
        }
    )
    if isinstance(asked, str):
        raise BadRequest(asked)
    name, by = engine.new_id(), who(request).name
    made = from_outside_id(task_id, name)
    noted = line(request, "checkpoint.ask", "checkpoint", made, run=run.id)
    act = partial(steering.ask, engine, task_id, asked, noted, name=name, by=by)
    made = await keyed(request, "create_checkpoint", task_id, body).once(made, act)
    row = await find_checkpoint(request, made)
    seq = await seq_after(request, run.id)
    return reply({"checkpoint": checkpoint_view(row), "snapshot_seq": seq}, 201)


def seconds_left(text: str, now: int) -> float:
    if not text:
        return 0.0
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise BadRequest(
            f'timeout_at "{text:.60}" is no moment such as 2026-01-31T12:00:00Z'
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    left = moment.timestamp() - now / 1000
    if left <= 0:
        raise BadRequest("timeout_at has passed")
    return left


async def find_checkpoint(request: Request, checkpoint_id: str) -> Checkpoint:
    engine = engine_of(request)
    async with engine.store.session() as session:
        rows = await session.rows(Checkpoint, [checkpoint_id])
    if not rows:
        raise NotFound(f'no checkpoint "{checkpoint_id}"')
    return rows[0]


async def resolve(request: Request) -> Response:
    """Answer a question: choose, write, or leave it to its default."""
    checkpoint_id = request.path_params["checkpoint_id"]
    body = await read_change(request, ResolveBody, checkpoint_id=checkpoint_id)
    row = await find_checkpoint(request, checkpoint_id)
    answer = {"mode": body.mode}
    if body.option_id:
        answer["option_id"] = body.option_id
    if body.freeform_input:
        answer["freeform_input"] = body.freeform_input
    noted = line(request, "checkpoint.answer", "checkpoint", row.id, run=row.run_id)
    said = {"by": who(request).name, "note": note_of(body)}
    act = partial(engine_runs.answer, engine_of(request), row.id, answer, noted, **said)
    await keyed(request, "resolve_checkpoint", row.id, body).once(row.id, act)
    seq = await seq_after(request, run_of(row.id))
    return reply({"checkpoint_id": row.id, "snapshot_seq": seq})


def note_of(body: ResolveBody) -> str:
    note = body.metadata.get("note") if is_object(body.metadata) else None
    return note if isinstance(note, str) else ""


async def rebuild(request: Request) -> Response:
    """Have a run say anew what it has said on its blackboard."""
    run = await find_run(request)
    noted = line(request, "blackboard.rebuild", "run", run.id)
    goals, results = await blackboard.rebuild(engine_of(request), run.id, noted)
    counts = {"run_context_written": goals, "task_results_written": results, "write_errors": 0}
    return reply({**counts, "blackboard_configured": True})

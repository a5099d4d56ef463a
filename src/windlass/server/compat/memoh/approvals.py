"""Approvals of what cannot be undone, and the ledger of what was done."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from windlass.engine import ledger
from windlass.engine.engine import Engine
from windlass.model.errors import NotFound
from windlass.model.ids import run_of
from windlass.model.ledger import Action, Approval, shown_action, shown_approval
from windlass.model.rows import Run, Task
from windlass.ports.store import Cond
from windlass.server.approving import approved
from windlass.server.audit import line
from windlass.server.caller import engine_of
from windlass.server.compat.memoh.record import find_run
from windlass.server.compat.memoh.wire import Body, decoded, keyed, moment, read_body_of
from windlass.server.http import read_json, reply

_ROWS_MAX = 1_000


class ApprovalBody(Body, frozen=True, kw_only=True):
    run_id: str = ""
    task_id: str = ""
    effect_class: str = ""
    reason: str = ""
    expires_in_s: float = ledger.EXPIRES_S


async def approve(request: Request) -> Response:
    """Allow the attempt of a task one thing that cannot be undone; the token is shown this once."""
    run = await find_run(request)
    task_id = await known_task(engine_of(request), run, request.path_params["task_id"])
    given = await read_json(request, dict[str, Any])
    body = read_body_of(ApprovalBody, given, {"run_id": run.id, "task_id": task_id})
    key = keyed(request, "approve", task_id, body)
    made, token = await approved(
        request, task_id, body.effect_class, body.reason, body.expires_in_s, key
    )
    shown: dict[str, Any] = {"id": made.id, "token": token, "expires_at": moment(made.expires_at)}
    return reply(shown, 201)


async def known_task(engine: Engine, run: Run, task_id: str) -> str:
    async with engine.store.session() as session:
        found = await session.rows(Task, [task_id]) if run_of(task_id) == run.id else []
    if not found:
        raise NotFound(f'no task "{task_id:.200}"')
    return found[0].id


async def list_approvals(request: Request) -> Response:
    """What was allowed for a task, the newest first, without tokens."""
    engine = engine_of(request)
    run = await find_run(request)
    task_id = await known_task(engine, run, request.path_params["task_id"])
    where = [Cond("run_id", "=", run.id), Cond("task_id", "=", task_id)]
    rows = await engine.store.page(Approval, where, descending=True, limit=_ROWS_MAX)
    attempts, now = await ledger.attempts_of(engine, rows), engine.store.now()
    items = [
        approval_view(row, shown_approval(row, now, attempt_over=ledger.is_over(row, attempts)))
        for row in rows
    ]
    return reply({"items": items})


def approval_view(row: Approval, status: str) -> dict[str, Any]:
    return {
        "id": row.id,
        "run_id": row.run_id,
        "task_id": row.task_id,
        "attempt_id": row.attempt_id,
        "effect_class": row.effect,
        "status": status,
        "approved_by": row.approved_by,
        "approval_reason": row.reason,
        "consumed_action_id": row.used_by or None,
        "created_at": moment(row.created_at),
        "expires_at": moment(row.expires_at),
        "consumed_at": moment(row.used_at),
    }


async def revoke(request: Request) -> Response:
    """Take back what was allowed and has not been used."""
    run = await find_run(request)
    task_id = await known_task(engine_of(request), run, request.path_params["task_id"])
    approval_id = request.path_params["approval_id"]
    async with engine_of(request).store.session() as session:
        found = await session.rows(Approval, [approval_id])
    if not found or found[0].task_id != task_id:
        raise NotFound(f'no approval "{approval_id:.80}"')
    noted = line(request, "approval.revoke", "approval", approval_id, run=run.id)
    await ledger.revoke(engine_of(request), run.id, approval_id, noted)
    return Response(status_code=204)


async def action_records(engine: Engine, run_id: str) -> list[dict[str, Any]]:
    """What the attempts of a run did outside, the newest thousand, in order."""
    rows = await engine.store.page(
        Action, [Cond("run_id", "=", run_id)], order="seq", descending=True, limit=_ROWS_MAX
    )
    attempts = await ledger.attempts_of(engine, rows)
    return [
        {
            "id": row.id,
            "run_id": row.run_id,
            "task_id": row.task_id,
            "attempt_id": row.attempt_id,
            "action_kind": "tool_call",
            "status": shown_action(row, attempts.get(row.attempt_id)),
            "effect_class": row.effect,
            "tool_name": row.tool,
            "tool_call_id": row.call_id,
            "input_payload": decoded(row.input),
            "output_payload": decoded(row.output),
            "error_payload": {"message": row.error} if row.error else None,
            "summary": row.summary,
            "started_at": moment(row.started_at),
            "finished_at": moment(row.finished_at),
        }
        for row in reversed(rows)
    ]

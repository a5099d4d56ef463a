"""What attempts do outside, as they say it and as people read it; approvals of what stays done."""

from collections.abc import Callable, Sequence

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from windlass.engine import ledger, steering
from windlass.engine.engine import Engine
from windlass.model.errors import BadRequest
from windlass.model.ledger import (
    UNKNOWN,
    Action,
    ActionState,
    Approval,
    read_effect,
    shown_action,
    shown_approval,
)
from windlass.model.rows import Attempt
from windlass.model.states import ATTEMPT_LIVE
from windlass.model.tenants import ALL
from windlass.ports.store import Cond
from windlass.protocol.api import OkView, Page
from windlass.protocol.exchange import ActionEnd, ActionReceipt, ActionStart
from windlass.protocol.ledger import ActionView, ApprovalBody, ApprovalMade, ApprovalView
from windlass.server.api.runs import find
from windlass.server.api.steering import keyed
from windlass.server.approving import approved
from windlass.server.audit import line
from windlass.server.caller import attempts_of, engine_of, who
from windlass.server.context import context_of
from windlass.server.http import read_json, reply
from windlass.server.own_attempts import check_own
from windlass.server.paging import fetch_filtered, fetch_page
from windlass.server.routes import Route

_STATES = (*ActionState, UNKNOWN)
_LIVE_MAX = 10_000
_FILTERS = ("task", "attempt", "tool", "effect", "state", "limit", "cursor")

# From workers


async def begin(request: Request) -> Response:
    """An attempt is about to do something outside: it is written down first."""
    body = await read_json(request, ActionStart)
    return await begun(await engine_for(request, body.attempt_id, str(body.token)), body)


async def begun(engine: Engine, body: ActionStart) -> Response:
    status = await ledger.begin(
        engine,
        body.attempt_id,
        body.call_id,
        body.tool,
        body.effect,
        input=body.input,
        summary=body.summary,
        token=body.approval_token,
    )
    return reply(ActionReceipt(status=status))


async def end(request: Request) -> Response:
    """How something that an attempt did outside went."""
    body = await read_json(request, ActionEnd)
    return await ended(await engine_for(request, body.attempt_id, str(body.token)), body)


async def ended(engine: Engine, body: ActionEnd) -> Response:
    status = await ledger.end(
        engine,
        body.attempt_id,
        body.call_id,
        body.state,
        output=body.output,
        error=body.error,
        summary=body.summary,
    )
    return reply(ActionReceipt(status=status))


async def engine_for(request: Request, attempt_id: str, token: str) -> Engine:
    """The engine as the attempt's worker may use it; anybody else is refused."""
    who(request).check_worker(request.path_params["id"])
    await check_own(request, attempt_id)
    await attempts_of(request).check_token(attempt_id, token)
    engine = context_of(request).engine
    tenant = who(request).works_for
    return engine if tenant == ALL else engine.of(tenant)


# For people


async def list_actions(request: Request) -> Response:
    """What the attempts of a run have done outside, in order; `state=unknown` is what may have
    happened, and nobody knows."""
    run = await find(request)
    engine = engine_of(request)
    query = request.query_params
    where = [Cond("run_id", "=", run.id)]
    if task := query.get("task"):
        where.append(Cond("task_id", "=", await steering.task_named(engine, run, task)))
    for name, column in (("attempt", "attempt_id"), ("tool", "tool")):
        if value := query.get(name):
            where.append(Cond(column, "=", value))
    if effect := query.get("effect"):
        where.append(Cond("effect", "=", read_effect(effect)))
    keep = await of_state(engine, run.id, query.get("state", ""))
    rows, next_ = await fetch_filtered(request, Action, keep, where, order="seq", descending=False)
    attempts = await ledger.attempts_of(engine, rows)
    items = [action_view(row, shown_action(row, attempts.get(row.attempt_id))) for row in rows]
    return reply(Page(items=items, next=next_))


async def of_state(engine: Engine, run_id: str, state: str) -> Callable[[Action], bool]:
    """What picks the actions of a state, which for an open one depends on its attempt's."""
    if not state:
        return lambda row: True
    if state not in _STATES:
        raise BadRequest(f'no state "{state:.60}" of an action; there are {", ".join(_STATES)}')
    live = await engine.store.page(
        Attempt,
        [Cond("run_id", "=", run_id), Cond("state", "in", sorted(ATTEMPT_LIVE))],
        limit=_LIVE_MAX,
    )
    states = {attempt.id: attempt.state for attempt in live}
    return lambda row: shown_action(row, states.get(row.attempt_id)) == state


def action_view(row: Action, state: str) -> ActionView:
    return ActionView(
        id=row.id,
        run_id=row.run_id,
        task_id=row.task_id,
        attempt_id=row.attempt_id,
        call_id=row.call_id,
        tool=row.tool,
        effect=row.effect,
        state=state,
        summary=row.summary,
        input=msgspec.Raw(row.input.encode()),
        output=None if row.output is None else msgspec.Raw(row.output.encode()),
        error=row.error,
        approval_id=row.approval_id,
        seq=row.seq,
        started_at=row.started_at,
        finished_at=row.finished_at,
    )


async def approve(request: Request) -> Response:
    """Allow the attempt a task has, or has next, one thing that cannot be undone. The token is in
    this answer and nowhere else."""
    body = await read_json(request, ApprovalBody)
    engine = engine_of(request)
    run = await find(request)
    task_id = await steering.task_named(engine, run, request.path_params["task"])
    key = keyed(request, f"approve {task_id}", body)
    made, token = await approved(request, task_id, body.effect, body.reason, body.expires_in_s, key)
    view = msgspec.structs.asdict(approval_view(made, made.state))
    return reply(ApprovalMade(**view, token=token), 201 if token else 200)


async def list_approvals(request: Request) -> Response:
    """What was allowed in a run, the newest first; never with a token."""
    run = await find(request)
    engine = engine_of(request)
    where = [Cond("run_id", "=", run.id)]
    if task := request.path_params.get("task") or request.query_params.get("task"):
        where.append(Cond("task_id", "=", await steering.task_named(engine, run, task)))
    rows, next_ = await fetch_page(request, Approval, where)
    return reply(Page(items=await approval_views(engine, rows), next=next_))


async def approval_views(engine: Engine, rows: Sequence[Approval]) -> list[ApprovalView]:
    attempts = await ledger.attempts_of(engine, rows)
    now = engine.store.now()
    return [
        approval_view(row, shown_approval(row, now, attempt_over=ledger.is_over(row, attempts)))
        for row in rows
    ]


def approval_view(row: Approval, state: str) -> ApprovalView:
    return ApprovalView(
        id=row.id,
        run_id=row.run_id,
        task_id=row.task_id,
        attempt_id=row.attempt_id,
        effect=row.effect,
        state=state,
        reason=row.reason,
        approved_by=row.approved_by,
        created_at=row.created_at,
        expires_at=row.expires_at,
        used_by=row.used_by,
        used_at=row.used_at,
    )


async def revoke(request: Request) -> Response:
    """Take back what was allowed and has not been used."""
    run = await find(request)
    approval_id = request.path_params["approval"]
    noted = line(request, "approval.revoke", "approval", approval_id, run=run.id)
    await ledger.revoke(engine_of(request), run.id, approval_id, noted)
    return reply(OkView())


_WORKER = "/api/v1/workers/{id}/actions"
_RUN = "/api/v1/runs/{id}"
_TASK = _RUN + "/tasks/{task}/approvals"
ROUTES = [
    Route("POST", _WORKER, begin, "worker", ActionStart, ActionReceipt),
    Route("POST", f"{_WORKER}/end", end, "worker", ActionEnd, ActionReceipt),
    Route("GET", f"{_RUN}/actions", list_actions, gives=Page[ActionView], query=_FILTERS),
    Route("GET", f"{_RUN}/approvals", list_approvals, gives=Page[ApprovalView]),
    Route("GET", _TASK, list_approvals, gives=Page[ApprovalView]),
    Route("POST", _TASK, approve, "operator", ApprovalBody, ApprovalMade, 201, control=True),
    Route(
        "DELETE",
        f"{_RUN}/approvals/{{approval}}",
        revoke,
        "operator",
        None,
        OkView,
        control=True,
    ),
]

"""The inbox: checkpoints, where runs wait for people."""

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from windlass.engine import runs
from windlass.model.errors import BadRequest, Conflict, NotFound
from windlass.model.questions import read_question
from windlass.model.rows import Checkpoint
from windlass.model.states import CheckpointState
from windlass.ports.store import Cond
from windlass.protocol.api import AnswerBody, CheckpointView, OkView, Page
from windlass.server.audit import line
from windlass.server.caller import engine_of, who
from windlass.server.http import raw, read_json, reply
from windlass.server.paging import fetch_page
from windlass.server.routes import Route


async def list_checkpoints(request: Request) -> Response:
    """Checkpoints, newest first; `state=open` is what waits for somebody."""
    where: list[Cond] = []
    if state := request.query_params.get("state"):
        if state not in {str(known) for known in CheckpointState}:
            raise BadRequest(f'no checkpoint state "{state}"')
        where.append(Cond("state", "=", state))
    if run := request.query_params.get("run"):
        where.append(Cond("run_id", "=", run))
    rows, next_ = await fetch_page(request, Checkpoint, where)
    return reply(Page(items=[checkpoint_view(row) for row in rows], next=next_))


def checkpoint_view(row: Checkpoint) -> CheckpointView:
    question = read_question(row.details)
    default = question.default_action
    return CheckpointView(
        id=row.id,
        run_id=row.run_id,
        task_id=row.task_id,
        flow=row.flow_name,
        node=row.node,
        kind=row.kind,
        state=str(row.state),
        prompt=row.prompt,
        show=raw(row.show),
        answer=raw(row.answer),
        note=row.note,
        answered_by=row.answered_by,
        created_at=row.created_at,
        expires_at=row.expires_at,
        answered_at=row.answered_at,
        options=[msgspec.Raw(msgspec.json.encode(option)) for option in question.options],
        default_action=None if default is None else msgspec.Raw(msgspec.json.encode(default)),
        severity=question.severity,
        reason_code=question.reason_code,
        blocks_run=question.blocks_run,
        asked_by=question.asked_by,
    )


async def find(request: Request) -> Checkpoint:
    """A checkpoint by its id, or the open one of a run (or the beginning of a run's id)."""
    given = request.path_params["id"]
    engine = engine_of(request)
    async with engine.store.session() as session:
        rows = await session.rows(Checkpoint, [given])
    if not rows:
        where = [Cond("id", ">=", given), Cond("id", "<", given + "\x7f")]
        where.append(Cond("state", "=", "open"))
        rows = await engine.store.page(Checkpoint, where, limit=2)
    if len(rows) > 1:
        raise Conflict(f'"{given}" stands for more than one open checkpoint; give more of its id')
    if not rows:
        raise NotFound(f'no checkpoint "{given}"')
    return rows[0]


async def get_checkpoint(request: Request) -> Response:
    """One checkpoint."""
    return reply(checkpoint_view(await find(request)))


async def resolve(request: Request) -> Response:
    """Answer a checkpoint; the first answer counts, a second is told so."""
    body = await read_json(request, AnswerBody)
    if body.answer is None or body.answer == "":
        raise BadRequest('an answer is needed, such as "approved" or "rejected"')
    row = await find(request)
    by = who(request).name
    noted = line(request, "checkpoint.answer", "checkpoint", row.id, run=row.run_id)
    await runs.answer(engine_of(request), row.id, body.answer, noted, by=by, note=body.note)
    return reply(OkView())


_AT = "/api/v1/checkpoints"
ROUTES = [
    Route(
        "GET",
        _AT,
        list_checkpoints,
        gives=Page[CheckpointView],
        query=("state", "run", "limit", "cursor"),
    ),
    Route("GET", _AT + "/{id}", get_checkpoint, gives=CheckpointView),
    Route("POST", _AT + "/{id}/resolve", resolve, "operator", AnswerBody, OkView, control=True),
]

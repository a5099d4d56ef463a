"""Steering a run that goes on: hints to its plan, questions about its tasks, doing without one."""

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from windlass.engine import steering
from windlass.engine.keys import Keyed
from windlass.kernel.checkpoints import from_outside_id
from windlass.model.errors import BadRequest
from windlass.model.hints import Hint, HintKind
from windlass.model.questions import read_request
from windlass.model.rows import Checkpoint
from windlass.protocol.api import CancelBody, CheckpointView, HintBody, OkView, QuestionBody
from windlass.server.api.inbox import checkpoint_view
from windlass.server.api.runs import find
from windlass.server.audit import line
from windlass.server.caller import engine_of, who
from windlass.server.http import read_json, reply
from windlass.server.routes import Route


def keyed(request: Request, scope: str, body: msgspec.Struct) -> Keyed:
    key = request.headers.get("idempotency-key", "")
    return Keyed(engine_of(request), scope, key, msgspec.json.encode(body, order="sorted"))


async def hint(request: Request) -> Response:
    """Tell a run's plan something while it goes on, or have the plan made anew."""
    body = await read_json(request, HintBody)
    engine = engine_of(request)
    run = await find(request)
    if body.kind not in list(HintKind):
        raise BadRequest(f'no hint "{body.kind:.60}"; there are {", ".join(HintKind)}')
    about = await steering.task_named(engine, run, body.task) if body.task else ""
    given = Hint(HintKind(body.kind), body.summary, body.details, about)
    once = keyed(request, f"hint {run.id}", body)
    if await once.earlier() is None:
        noted = line(request, "run.hint", "run", run.id, kind=body.kind, summary=body.summary)
        along = (noted, *once.rows(run.id))
        await steering.hint(engine, run.id, given, *along, by=who(request).name)
    return reply(OkView(), 202)


async def cancel_task(request: Request) -> Response:
    """Do without a task of a plan; what depends on it is skipped."""
    body = await read_json(request, CancelBody)
    engine = engine_of(request)
    run = await find(request)
    task_id = await steering.task_named(engine, run, request.path_params["task"])
    once = keyed(request, f"cancel {task_id}", body)
    if await once.earlier() is None:
        noted = line(request, "task.cancel", "task", task_id, reason=body.reason)
        await steering.cancel_task(engine, task_id, body.reason, noted, *once.rows(task_id))
    return reply(OkView(), 202)


async def ask(request: Request) -> Response:
    """Have a person asked before a task of a plan goes on."""
    body = await read_json(request, QuestionBody)
    engine = engine_of(request)
    run = await find(request)
    task_id = await steering.task_named(engine, run, request.path_params["task"])
    asked = read_request(body.plain())
    if isinstance(asked, str):
        raise BadRequest(asked)
    once = keyed(request, f"ask {task_id}", body)
    before = await once.earlier()
    if before is None:
        name, by = engine.new_id(), who(request).name
        made = from_outside_id(task_id, name)
        noted = line(request, "checkpoint.ask", "checkpoint", made, run=run.id)
        along = (noted, *once.rows(made))
        made = await steering.ask(engine, task_id, asked, *along, name=name, by=by)
    else:
        made = before.run_id
    async with engine.store.session() as session:
        rows = await session.rows(Checkpoint, [made])
    return reply(checkpoint_view(rows[0]), 201)


_ONE = "/api/v1/runs/{id}"
_TASK = _ONE + "/tasks/{task}"
ROUTES = [
    Route("POST", f"{_ONE}/hints", hint, "operator", HintBody, OkView, 202, control=True),
    Route(
        "POST", f"{_TASK}/cancel", cancel_task, "operator", CancelBody, OkView, 202, control=True
    ),
    Route(
        "POST",
        f"{_TASK}/checkpoints",
        ask,
        "operator",
        QuestionBody,
        CheckpointView,
        201,
        control=True,
    ),
]

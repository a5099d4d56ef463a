"""Steering a run that goes on: hints to its plan, questions about its tasks, doing without one."""

from functools import partial

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
    noted = line(request, "run.hint", "run", run.id, kind=body.kind, summary=body.summary)
    act = partial(steering.hint, engine, run.id, given, noted, by=who(request).name)
    await keyed(request, f"hint {run.id}", body).once(run.id, act)
    return reply(OkView(), 202)


async def cancel_task(request: Request) -> Response:
    """Do without a task of a plan; what depends on it is skipped."""
    body = await read_json(request, CancelBody)
    engine = engine_of(request)
    run = await find(request)
    task_id = await steering.task_named(engine, run, request.path_params["task"])
    noted = line(request, "task.cancel", "task", task_id, reason=body.reason)
    act = partial(steering.cancel_task, engine, task_id, body.reason, noted)
    await keyed(request, f"cancel {task_id}", body).once(task_id, act)
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
    name, by = engine.new_id(), who(request).name
    made = from_outside_id(task_id, name)
    noted = line(request, "checkpoint.ask", "checkpoint", made, run=run.id)
    act = partial(steering.ask, engine, task_id, asked, noted, name=name, by=by)
    made = await keyed(request, f"ask {task_id}", body).once(made, act)
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

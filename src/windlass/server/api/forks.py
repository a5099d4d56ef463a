"""Forks: another run with the results of one that has ended, done again from a task on."""

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from windlass.engine import forks
from windlass.engine.reruns import target_of
from windlass.protocol.api import StartedView
from windlass.protocol.forks import ForkBody
from windlass.server.api.runs import find, started_view
from windlass.server.audit import line
from windlass.server.caller import engine_of
from windlass.server.http import read_json
from windlass.server.routes import Route


async def fork(request: Request) -> Response:
    """Start another run that keeps what a run did before a task, and does the rest again; with an
    input of its own for that task. With an Idempotency-Key the same call twice makes one."""
    body = await read_json(request, ForkBody)
    engine = engine_of(request)
    run = await find(request)
    started = await forks.fork_run(
        engine,
        run,
        body.task,
        None if body.input is msgspec.UNSET else bytes(body.input).decode(),
        key=request.headers.get("idempotency-key", ""),
        noted=lambda new: line(request, "run.fork", "run", new.id, of=run.id, task=body.task),
    )
    return started_view(started, await target_of(engine, run))


ROUTES = [
    Route(
        "POST",
        "/api/v1/runs/{id}/fork",
        fork,
        "operator",
        ForkBody,
        StartedView,
        202,
        control=True,
    ),
]

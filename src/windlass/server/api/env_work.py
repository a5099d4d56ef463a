"""What attempts do in their environments: every call under the attempt's lease."""

from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import Response

from windlass.model.errors import NotFound
from windlass.model.rows import Attempt
from windlass.protocol.api import OkView
from windlass.protocol.envs import (
    EnvContent,
    EnvDoor,
    EnvExec,
    EnvExecuted,
    EnvMark,
    EnvRead,
    EnvSnapshotView,
    EnvWrite,
    OfAttempt,
    snapshot_view,
)
from windlass.server.api.ledger import engine_for
from windlass.server.context import context_of
from windlass.server.env_output import answer_with
from windlass.server.http import read_json, reply
from windlass.server.routes import Route


async def _check(request: Request, body: OfAttempt) -> None:
    engine = await engine_for(request, body.attempt_id, str(body.token))
    async with engine.store.session() as session:
        if not await session.rows(Attempt, [body.attempt_id]):
            raise NotFound(f"attempt {body.attempt_id} has no environment")


async def execute(request: Request) -> Response:
    """An attempt runs a command in its place, to its end; as server-sent events if it asks so."""
    body = await read_json(request, EnvExec)
    await _check(request, body)
    places = context_of(request).places
    return await answer_with(request, lambda hear, gone: places.execute(body, hear, gone))


async def read(request: Request) -> Response:
    """An attempt reads a file of its place."""
    body = await read_json(request, EnvRead)
    await _check(request, body)
    return reply(EnvContent(data=await context_of(request).places.read(body)))


async def write(request: Request) -> Response:
    """An attempt puts a file into its place."""
    body = await read_json(request, EnvWrite)
    await _check(request, body)
    await context_of(request).places.write(body)
    return reply(OkView())


async def snapshot(request: Request) -> Response:
    """An attempt has its place kept as it is."""
    body = await read_json(request, EnvMark)
    await _check(request, body)
    return reply(snapshot_view(await context_of(request).places.photograph(body)))


async def door(request: Request) -> Response:
    """Where an attempt reaches its browser."""
    body = await read_json(request, EnvMark)
    await _check(request, body)
    session = await context_of(request).places.let_in(body)
    query = urlencode({"attempt": body.attempt_id, "token": str(body.token)})
    return reply(EnvDoor(path=f"/api/v1/envs/sessions/{quote(session.id, safe='')}/cdp?{query}"))


_WORKER = "/api/v1/workers/{id}/env"
ROUTES = [
    Route("POST", f"{_WORKER}/exec", execute, "worker", EnvExec, EnvExecuted),
    Route("POST", f"{_WORKER}/read", read, "worker", EnvRead, EnvContent),
    Route("POST", f"{_WORKER}/write", write, "worker", EnvWrite, OkView),
    Route("POST", f"{_WORKER}/snapshot", snapshot, "worker", EnvMark, EnvSnapshotView),
    Route("POST", f"{_WORKER}/door", door, "worker", EnvMark, EnvDoor),
]

"""The blackboard of a run: read by people, written and read by its attempts."""

from starlette.requests import Request
from starlette.responses import Response

from windlass.engine import blackboard
from windlass.engine.engine import Engine
from windlass.model.blackboard import BoardEntry
from windlass.model.ids import run_of
from windlass.protocol.api import Page
from windlass.protocol.blackboard import (
    BoardFound,
    BoardRead,
    BoardView,
    BoardWrite,
    BoardWrote,
    board_view,
)
from windlass.server.api.ledger import engine_for
from windlass.server.api.runs import find
from windlass.server.caller import engine_of
from windlass.server.http import read_json, reply, whole_number
from windlass.server.paging import fetch_page
from windlass.server.routes import Route


async def list_entries(request: Request) -> Response:
    """What stands on a run's blackboard, by key; `prefix` for those that begin so."""
    run = await find(request)
    where = blackboard.beginning(run.id, request.query_params.get("prefix", ""))
    rows, next_ = await fetch_page(request, BoardEntry, where, order="key", descending=False)
    return reply(Page(items=[board_view(row) for row in rows], next=next_))


async def get_entry(request: Request) -> Response:
    """One key as it stands, or as it stood at a `revision`."""
    run = await find(request)
    revision = whole_number(request, "revision", 0, 2**53)
    entry = await blackboard.read(engine_of(request), run.id, request.path_params["key"], revision)
    return reply(board_view(entry))


async def list_revisions(request: Request) -> Response:
    """A key now and before, the newest first; at most a hundred."""
    run = await find(request)
    engine, key = engine_of(request), request.path_params["key"]
    now = await blackboard.read(engine, run.id, key)
    past = await blackboard.revisions(engine, run.id, key)
    return reply(Page(items=[board_view(now), *(board_view(row) for row in past)]))


# From workers


async def write(request: Request) -> Response:
    """An attempt writes below its own task, or takes a key away."""
    body = await read_json(request, BoardWrite)
    return await written(await engine_for(request, body.attempt_id, str(body.token)), body)


async def written(engine: Engine, body: BoardWrite) -> Response:
    if body.delete:
        revision = await blackboard.remove(engine, body.attempt_id, body.key, body.expected)
    else:
        revision = await blackboard.write(
            engine, body.attempt_id, body.key, body.payload, body.expected
        )
    return reply(BoardWrote(revision=revision))


async def read(request: Request) -> Response:
    """An attempt reads a key of its run, or all that begin so."""
    body = await read_json(request, BoardRead)
    return await looked_up(await engine_for(request, body.attempt_id, str(body.token)), body)


async def looked_up(engine: Engine, body: BoardRead) -> Response:
    run_id = run_of(body.attempt_id)
    rows = await blackboard.found(engine, run_id, body.key, body.prefix, body.revision)
    return reply(BoardFound(items=[board_view(row) for row in rows]))


_RUN = "/api/v1/runs/{id}/blackboard"
_WORKER = "/api/v1/workers/{id}/blackboard"
ROUTES = [
    Route("GET", _RUN, list_entries, gives=Page[BoardView], query=("prefix", "limit", "cursor")),
    Route("GET", _RUN + "/{key}", get_entry, gives=BoardView, query=("revision",)),
    Route("GET", _RUN + "/{key}/revisions", list_revisions, gives=Page[BoardView]),
    Route("POST", _WORKER, write, "worker", BoardWrite, BoardWrote),
    Route("POST", _WORKER + "/read", read, "worker", BoardRead, BoardFound),
]

"""Environments: the resources there are, the sessions tasks have, and a look into them."""

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from windlass.engine.engine import Engine
from windlass.engine.envs.follow import get_session, snapshots_of
from windlass.engine.envs.resources import get_resource
from windlass.kernel.events import EnvGivenUp
from windlass.model.env_drift import drift_of
from windlass.model.envs import (
    KINDS,
    EnvResource,
    EnvSession,
    EnvSnapshot,
    EnvState,
    env_key,
    place_name,
)
from windlass.model.errors import BadRequest
from windlass.model.limits import LimitUse, limit_id
from windlass.model.reasons import Reason
from windlass.ports.store import Cond
from windlass.protocol.api import OkView, Page
from windlass.protocol.envs import (
    EnvExecBody,
    EnvExecuted,
    EnvKindView,
    EnvReleaseBody,
    EnvResourceBody,
    EnvResourcePatch,
    EnvResourceView,
    EnvSessionView,
    EnvSnapshotView,
    snapshot_view,
)
from windlass.protocol.reason_words import say
from windlass.protocol.reasons_api import reason_if_any
from windlass.server.audit import line, note
from windlass.server.caller import engine_of, who
from windlass.server.context import context_of
from windlass.server.env_changes import resource_changed, resource_deleted, resource_made
from windlass.server.env_output import answer_with
from windlass.server.http import read_json, reply
from windlass.server.paging import fetch_page
from windlass.server.routes import Route

_REASON_CHARS_MAX = 500


# Resources


async def list_resources(request: Request) -> Response:
    """Resources by name; `kind` and `status` for some of them."""
    engine = engine_of(request)
    query = request.query_params
    where = [Cond(name, "=", query[name]) for name in ("kind", "status") if query.get(name)]
    rows, next_ = await fetch_page(request, EnvResource, where, order="name", descending=False)
    return reply(Page(items=await resource_views(request, engine, rows), next=next_))


async def resource_views(
    request: Request, engine: Engine, rows: list[EnvResource]
) -> list[EnvResourceView]:
    keys = [limit_id(row.tenant, env_key(row.name)) for row in rows]
    async with engine.system.store.session() as session:
        found = await session.rows(LimitUse, keys) if keys else []
    uses = {use.id: use for use in found}
    hosts = context_of(request).places.hosts
    return [
        resource_view(row, uses.get(key), hosts.lacks(row.kind), engine.store.now())
        for row, key in zip(rows, keys, strict=True)
    ]


def resource_view(
    row: EnvResource, use: LimitUse | None, lacks: Reason | None, now: int
) -> EnvResourceView:
    return EnvResourceView(
        id=row.id,
        name=row.name,
        kind=row.kind,
        capacity=row.capacity,
        config=msgspec.json.decode(row.config),
        metadata=msgspec.json.decode(row.metadata),
        status=row.status,
        in_use=0 if use is None else use.in_use,
        waiting=0 if use is None else use.parked,
        missing="" if lacks is None else say(lacks, now),
        lacks=reason_if_any(lacks),
        created_at=row.created_at,
        created_by=row.created_by,
        changed_at=row.changed_at,
    )


async def view_of(request: Request, row: EnvResource) -> EnvResourceView:
    return (await resource_views(request, engine_of(request), [row]))[0]


async def make_resource(request: Request) -> Response:
    """Make a resource: what its places are, and how many there may be at once."""
    body = await read_json(request, EnvResourceBody)
    return reply(await view_of(request, await resource_made(request, body)), 201)


async def get_one_resource(request: Request) -> Response:
    """A resource, by its id or its name."""
    row = await get_resource(engine_of(request), request.path_params["id"])
    return reply(await view_of(request, row))


async def change_resource(request: Request) -> Response:
    """Change what the body names, and nothing else."""
    body = await read_json(request, EnvResourcePatch)
    return reply(await view_of(request, await resource_changed(request, body)))


async def delete_resource(request: Request) -> Response:
    """Delete a resource that has no sessions."""
    await resource_deleted(request)
    return reply(OkView())


async def list_kinds(request: Request) -> Response:
    """Which kinds of runtimes are at hand, and how to get the others."""
    return reply(Page(items=[kind_view(request, kind) for kind in KINDS]))


def kind_view(request: Request, kind: str) -> EnvKindView:
    hosts, now = context_of(request).places.hosts, engine_of(request).store.now()
    lacks = hosts.lacks(kind)
    return EnvKindView(
        kind=kind,
        hosts=sorted(name for name, backend in hosts.all() if backend.kind == kind),
        missing="" if lacks is None else say(lacks, now),
        lacks=reason_if_any(lacks),
    )


# Sessions


async def list_sessions(request: Request) -> Response:
    """Sessions, the newest first; those that are over only if `state` asks for them."""
    query = request.query_params
    state = query.get("state", "")
    if state and state not in set(EnvState) | {"all"}:
        raise BadRequest(f'state "{state:.40}": one of all, {", ".join(EnvState)}')
    where = [
        Cond(column, "=", query[name])
        for name, column in (("run", "run_id"), ("task", "task_id"), ("kind", "kind"))
        if query.get(name)
    ]
    if name := query.get("resource"):
        where.append(Cond("resource", "=", name))
    if state != "all":
        sign, value = ("=", state) if state else ("!=", str(EnvState.RELEASED))
        where.append(Cond("state", sign, value))
    rows, next_ = await fetch_page(request, EnvSession, where)
    return reply(Page(items=[session_view(row, []) for row in rows], next=next_))


async def get_one_session(request: Request) -> Response:
    """A session with its snapshots."""
    session = await _session(request)
    return reply(
        session_view(session, await snapshots_of(context_of(request).places.engine, session))
    )


async def _session(request: Request) -> EnvSession:
    return await get_session(engine_of(request), request.path_params["id"])


def session_view(row: EnvSession, snapshots: list[EnvSnapshot]) -> EnvSessionView:
    return EnvSessionView(
        id=row.id,
        resource=row.resource,
        kind=row.kind,
        state=row.state,
        run_id=row.run_id,
        task_id=row.task_id,
        attempt_id=row.attempt_id,
        epoch=row.epoch,
        host=row.host,
        place=place_name(row.id),
        details=msgspec.json.decode(row.details),
        reason=row.reason,
        expires_at=row.expires_at,
        created_at=row.created_at,
        committed_at=row.committed_at,
        released_at=row.released_at,
        drift=drift_of(snapshots).status,
        snapshots=[snapshot_view(one) for one in snapshots],
    )


async def release_session(request: Request) -> Response:
    """Have a session given back that no attempt works in: held, kept, or not claimed yet."""
    body = await read_json(request, EnvReleaseBody)
    session = await _session(request)
    reason = body.reason[:_REASON_CHARS_MAX] or f"released by {who(request).name}"
    noted = line(request, "env.session.release", "env_session", session.id, reason=reason)
    await engine_of(request).submit(EnvGivenUp(session.id, reason), noted)
    return reply(OkView())


async def take_snapshot(request: Request) -> Response:
    """Keep a place as it is."""
    session = await _session(request)
    noted = line(request, "env.session.snapshot", "env_session", session.id)
    return reply(snapshot_view(await context_of(request).places.snapshot(session, noted)), 201)


async def execute(request: Request) -> Response:
    """Run a command in a place, to look what is there; as server-sent events (`out`, `err`, `done`
    or `error`) for whoever accepts `text/event-stream`."""
    body = await read_json(request, EnvExecBody)
    session = await _session(request)
    await note(request, "env.session.exec", "env_session", session.id, command=body.command)
    places = context_of(request).places
    return await answer_with(request, lambda hear, gone: places.look(session, body, hear, gone))


async def screenshot(request: Request) -> Response:
    """What a browser shows, as PNG."""
    image = await context_of(request).places.screenshot(await _session(request))
    return Response(image, media_type="image/png", headers={"Cache-Control": "no-store"})


_RESOURCES = "/api/v1/envs/resources"
_SESSIONS = "/api/v1/envs/sessions"
_ONE = f"{_SESSIONS}/{{id}}"
_FILTERS = ("run", "task", "kind", "resource", "state", "limit", "cursor")
ROUTES = [
    Route(
        "GET",
        _RESOURCES,
        list_resources,
        gives=Page[EnvResourceView],
        query=("kind", "status", "limit", "cursor"),
    ),
    Route("POST", _RESOURCES, make_resource, "operator", EnvResourceBody, EnvResourceView, 201),
    Route("GET", f"{_RESOURCES}/{{id}}", get_one_resource, gives=EnvResourceView),
    Route(
        "PATCH",
        f"{_RESOURCES}/{{id}}",
        change_resource,
        "operator",
        EnvResourcePatch,
        EnvResourceView,
    ),
    Route("DELETE", f"{_RESOURCES}/{{id}}", delete_resource, "operator", None, OkView),
    Route("GET", "/api/v1/envs/kinds", list_kinds, gives=Page[EnvKindView]),
    Route("GET", _SESSIONS, list_sessions, gives=Page[EnvSessionView], query=_FILTERS),
    Route("GET", _ONE, get_one_session, gives=EnvSessionView),
    Route("POST", f"{_ONE}/release", release_session, "operator", EnvReleaseBody, OkView),
    Route("POST", f"{_ONE}/snapshots", take_snapshot, "operator", None, EnvSnapshotView, 201),
    Route("POST", f"{_ONE}/exec", execute, "operator", EnvExecBody, EnvExecuted),
    Route("GET", f"{_ONE}/screenshot", screenshot, "operator"),
]

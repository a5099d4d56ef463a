"""The worker registry, PocketFlow's way."""

from typing import Annotated, Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from windlass.engine import workers
from windlass.engine.engine import Engine
from windlass.model.errors import BadRequest, NotFound
from windlass.model.queues import transport_of
from windlass.model.rows import Worker
from windlass.server import announcements
from windlass.server.caller import attempts_of, engine_of, who
from windlass.server.compat.pocketflow.names import (
    OK,
    list_field,
    number_field,
    seconds,
    text_field,
)
from windlass.server.context import context_of
from windlass.server.http import reply
from windlass.server.loose_fields import read_fields
from windlass.server.push_urls import check_push_url

_TRANSPORTS = {"": "push", "http": "push", "async": "pull", "local": "local"}
_SINCE = "since"
"""In what is kept of a worker: when the process that is there now registered."""
_TYPES = {"push": "http", "pull": "async", "control": "local"}
_Cap = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]


_TTL_S_MAX = 1e9
"""As good as for ever."""


async def register(request: Request) -> Response:
    """Add a worker, or take it back under its old id; AstraFlow's come to the same path."""
    fields = await read_fields(request)
    if announcements.is_registration(fields):
        return await announcements.announce(request, fields)
    kind = text_field(fields, "Type")
    if kind not in _TRANSPORTS:
        raise BadRequest(f'Type "{kind}" is none of http, async, local')
    url = text_field(fields, "URL")
    if _TRANSPORTS[kind] == "push":
        check_push_url(url, context_of(request).push_allow)
    engine = engine_of(request)
    await workers.register(
        engine,
        who(request).check_worker(text_field(fields, "ID", required=True)),
        transport=_TRANSPORTS[kind],
        url=url,
        services=list_field(fields, "Services"),
        capacity=number_field(fields, "Capacity"),
        meta=_meta(fields, engine.store.now()),
        tenant=who(request).works_for,
    )
    context_of(request).workers_changed()
    return reply(OK)


def _meta(fields: dict[str, Any], now: int) -> str:
    """When it registered and, beyond the seed, how many calls of single services it lets run at
    once."""
    try:
        caps = msgspec.convert(fields.get("caps") or {}, dict[str, _Cap])
    except msgspec.ValidationError as error:
        raise BadRequest(f"caps: {error}") from error
    return msgspec.json.encode({_SINCE: now, **({"caps": caps} if caps else {})}).decode()


async def heartbeat(request: Request) -> Response:
    """Note that a worker is alive, by its id alone; an unknown one is told to register again."""
    fields = await read_fields(request)
    if announcements.is_heartbeat(fields):
        return await announcements.beat(request, fields)
    engine = engine_of(request)
    worker_id = who(request).check_worker(text_field(fields, "ID", required=True))
    load = max(0, number_field(fields, "Load"))
    known = await workers.get_worker(engine, worker_id)
    if known is None or not await workers.heartbeat(engine, worker_id, load):
        raise NotFound(f'unknown worker "{worker_id}"; register again')
    if known.transport == "push" and known.load != load:
        context_of(request).workers_changed()
    elif known.transport == "pull":
        await keep_leases(request, known)
    return reply(OK)


async def keep_leases(request: Request, worker: Worker) -> None:
    """A pull worker's sign of life is for what it holds too: this surface's own workers send no
    other. What it claimed before it registered last belonged to a process that is gone."""
    since = workers.meta_of(worker).get(_SINCE, 0)
    rows = await engine_of(request).store.query("held_by", worker_id=worker.id)
    held = [
        row["id"]
        for row in rows
        if transport_of(row["queue"]) == "pull" and row["claimed_at"] >= since
    ]
    if held:
        await attempts_of(request).renew(held, worker.id)


async def list_workers(request: Request) -> Response:
    """Workers heard of within `ttl` seconds (default 15; negative: all), by service."""
    engine = engine_of(request)
    found = await workers.live_workers(engine, ttl_s=ttl(request))
    service = request.query_params.get("service", "")
    rows = [worker_json(engine, row) for row in found]
    return reply([row for row in rows if not service or service in row["services"]])


def ttl(request: Request) -> float:
    text = request.query_params.get("ttl", "")
    try:
        value = int(text) if text else 0
    except ValueError:
        value = 0
    return float(value or 15) if 0 <= value < _TTL_S_MAX else _TTL_S_MAX


async def allocate(request: Request) -> Response:
    """The least loaded worker that can be called for a service."""
    engine = engine_of(request)
    service = request.query_params.get("service", "")
    for row in await workers.live_workers(engine, transport="push", ttl_s=15):
        if not service or workers.serves(row, service):
            return reply(worker_json(engine, row))
    return reply({"error": "no worker"}, 500)


def worker_json(engine: Engine, row: Worker) -> dict[str, Any]:
    online = workers.state_of(engine, row) == "online"
    own = row.transport in (workers.CONTROL, workers.API)
    return {
        "id": row.id,
        "url": "local" if own else row.url,
        "services": functions_of(row) if own else workers.services_of(row),
        "load": row.load,
        "last_heartbeat": seconds(row.seen_at),
        "status": "online" if online else "offline",
        "type": _TYPES.get(row.transport, row.transport),
    }


def functions_of(row: Worker) -> list[str]:
    """The functions a server calls itself."""
    return [name.removeprefix("local:") for name in workers.services_of(row) if "local:" in name]

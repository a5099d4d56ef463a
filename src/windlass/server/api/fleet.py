"""The workers there are: who, in which state, with which packages."""

from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from windlass.engine import workers
from windlass.engine.engine import Engine
from windlass.model.errors import BadRequest, NotFound
from windlass.model.rows import Worker
from windlass.model.times import iso
from windlass.model.values import is_object
from windlass.ports.store import Cond
from windlass.protocol.workers_api import WorkerList, WorkerView
from windlass.server.caller import engine_of
from windlass.server.http import reply, whole_number
from windlass.server.paging import fetch_filtered
from windlass.server.routes import Route
from windlass.server.worker_details import camel, camel_capabilities, camel_heartbeat, packages_of

_TRUTH = {"true": True, "1": True, "false": False, "0": False}
_MOST = 10**9


class Wanted(msgspec.Struct, frozen=True):
    """What a list of workers is limited to; None leaves it open."""

    state: str | None = None
    text: str | None = None
    queue: str | None = None
    connected: bool | None = None
    registered: bool | None = None
    healthy: bool | None = None
    package: tuple[str, str] | None = None
    package_status: str | None = None
    inflight_max: int | None = None
    age_s_max: int | None = None
    latency_ms_max: int | None = None

    def fits(self, engine: Engine, row: Worker) -> bool:
        state = workers.state_of(engine, row)
        meta = workers.meta_of(row)
        age_ms = engine.store.now() - row.seen_at
        return (
            self.state in (None, state)
            and (self.text is None or self.text in row.id or self.text in str(meta.get("hostname")))
            and (self.queue is None or workers.serves(row, self.queue))
            and self.connected in (None, is_connected(row, state))
            and self.registered in (None, is_registered(state))
            and self.healthy in (None, is_healthy(meta))
            and self.has_package(meta)
            and self.is_quick(row, meta)
            and (self.age_s_max is None or age_ms <= self.age_s_max * 1000)
        )

    def is_quick(self, row: Worker, meta: dict[str, Any]) -> bool:
        """Whether it is as idle and as near as asked; one that says no latency may be far."""
        busy = measured(meta, "inflight")
        latency = measured(meta, "latencyMs")
        return (
            self.inflight_max is None or (row.load if busy is None else busy) <= self.inflight_max
        ) and (
            self.latency_ms_max is None or (latency is not None and latency <= self.latency_ms_max)
        )

    def has_package(self, meta: dict[str, Any]) -> bool:
        if self.package is None and self.package_status is None:
            return True
        return any(
            self.package in (None, (found.name, found.version))
            and self.package_status in (None, found.status)
            for found in packages_of(meta)
        )


def wanted(request: Request) -> Wanted:
    """The filter a query string stands for."""
    query = request.query_params
    name, version = query.get("packageName"), query.get("packageVersion")
    if bool(name) != bool(version):
        raise BadRequest("packageName and packageVersion go together; give both or neither")
    return Wanted(
        state=query.get("state") or None,
        text=query.get("q") or None,
        queue=query.get("queue") or None,
        connected=truth(request, "connected"),
        registered=truth(request, "registered"),
        healthy=truth(request, "healthy"),
        package=(name, version) if name and version else None,
        package_status=query.get("packageStatus") or None,
        inflight_max=number(request, "maxInflight"),
        age_s_max=number(request, "maxHeartbeatAgeSeconds"),
        latency_ms_max=number(request, "maxLatencyMs"),
    )


def truth(request: Request, name: str) -> bool | None:
    text = request.query_params.get(name)
    if not text:
        return None
    if text.lower() not in _TRUTH:
        raise BadRequest(f'{name}="{text}" is neither true nor false')
    return _TRUTH[text.lower()]


def number(request: Request, name: str) -> int | None:
    given = request.query_params.get(name)
    return whole_number(request, name, 0, _MOST) if given else None


async def list_workers(request: Request) -> Response:
    """Workers by id, with what each holds and has, and when it was last heard of."""
    engine = engine_of(request)
    filters = wanted(request)
    transport = request.query_params.get("transport")
    rows, next_ = await fetch_filtered(
        request,
        Worker,
        lambda row: filters.fits(engine, row),
        [Cond("transport", "=", transport)] if transport else [],
        descending=False,
        size=50,
        size_max=1000,
    )
    held = {
        row["worker_id"]: row["n"]
        for row in await engine.store.query("count_held", tenant=engine.tenant)
    }
    items = [worker_view(engine, row, held.get(row.id, 0)) for row in rows]
    return reply(WorkerList(items=items, next=next_, next_cursor=next_))


async def get_worker(request: Request) -> Response:
    """One worker."""
    engine = engine_of(request)
    row = await workers.get_worker(engine, request.path_params["id"])
    if row is None:
        raise NotFound(f'no worker "{request.path_params["id"]}"')
    held = await engine.store.query("held_by", worker_id=row.id)
    return reply(worker_view(engine, row, len(held)))


def worker_view(engine: Engine, row: Worker, held: int) -> WorkerView:
    meta = workers.meta_of(row)
    state = workers.state_of(engine, row)
    services = msgspec.json.decode(row.services, type=list[str])
    capabilities, beat = meta.get("capabilities"), meta.get("heartbeat")

    def text(name: str) -> str:
        return str(meta.get(name) or "")

    return WorkerView(
        id=row.id,
        transport=row.transport,
        url=row.url,
        services=services,
        queues=services,
        capacity=row.capacity,
        load=row.load,
        held=held,
        state=state,
        connected=is_connected(row, state),
        registered=is_registered(state),
        registered_at=row.registered_at,
        seen_at=row.seen_at,
        last_heartbeat_at=iso(row.seen_at),
        packages=packages_of(meta),
        hostname=text("hostname"),
        version=text("version"),
        instance_id=text("instanceId"),
        tenant=text("tenant"),
        capabilities=camel_capabilities(capabilities) if is_object(capabilities) else None,
        heartbeat=camel_heartbeat(beat) if is_object(beat) else None,
        payload_types=meta.get("payloadTypes") or [],
        channels=meta.get("channels") or [],
    )


def is_connected(row: Worker, state: str) -> bool:
    there = row.transport == "link" and state in workers.LIVE
    return there and workers.meta_of(row).get(workers.CONNECTED) is not False


def is_registered(state: str) -> bool:
    """Whether it is still counted on: one that is gone for good registers anew."""
    return state != "offline"


def is_healthy(meta: dict[str, Any]) -> bool:
    """Whether it said so; one that said nothing yet counts as well."""
    beat = meta.get("heartbeat")
    return not is_object(beat) or beat.get("healthy") is not False


def measured(meta: dict[str, Any], name: str) -> float | None:
    """A number of its newest heartbeat."""
    beat = meta.get("heartbeat")
    metrics = beat.get("metrics") if is_object(beat) else None
    found = camel(metrics).get(name) if is_object(metrics) else None
    return found if isinstance(found, int | float) else None


_AT = "/api/v1/workers"
_QUERY = (
    "state",
    "q",
    "transport",
    "queue",
    "connected",
    "registered",
    "healthy",
    "packageName",
    "packageVersion",
    "packageStatus",
    "maxInflight",
    "maxHeartbeatAgeSeconds",
    "maxLatencyMs",
    "limit",
    "cursor",
)
ROUTES = [
    Route("GET", _AT, list_workers, gives=WorkerList, query=_QUERY),
    Route("GET", _AT + "/{id}", get_worker, gives=WorkerView),
]

"""Workers of the link that announce themselves over HTTP, before or beside their WebSocket.

Announcing reserves the name and tells what the worker has, so that workflows can be published for
it; work comes only over the WebSocket. PocketFlow's workers come to the same paths, told apart by
what their bodies say.
"""

from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from windlass.engine import workers
from windlass.engine.workers import state_of
from windlass.model.errors import BadRequest, NotFound
from windlass.model.rows import Worker
from windlass.model.values import is_list, is_object
from windlass.protocol.workers_api import AnnouncedView
from windlass.server.caller import engine_of, who
from windlass.server.context import context_of
from windlass.server.http import reply

_LINK = "/ws/worker"
_FOREIGN = frozenset({"url", "services"})
_REGISTERS = frozenset({"workerid", "workername", "capabilities", "packages"})
_BEATS = frozenset({"workerid", "workername", "status", "healthy", "metrics", "packages"})

Fields = dict[str, Any]


def is_registration(fields: Fields) -> bool:
    """Whether a body registers a worker of the link, and not one that is called or asks."""
    if fields.get("type") == "register":
        return True
    return (
        "type" not in fields and not _FOREIGN & fields.keys() and bool(_REGISTERS & fields.keys())
    )


def is_heartbeat(fields: Fields) -> bool:
    return fields.get("type") == "heartbeat" or bool(_BEATS & fields.keys())


async def announce(request: Request, fields: Fields) -> Response:
    packages = packages_in(fields)
    capabilities = capabilities_in(fields)
    link = context_of(request).link
    meta = {
        "tenant": link.settings.tenant,
        "capabilities": capabilities,
        "packages": packages,
        "hostname": str(fields.get("hostname") or ""),
        "version": str(fields.get("version") or ""),
    }
    row = await workers.register_link(
        engine_of(request),
        who(request).check_worker(worker_id_in(fields)),
        packages=[f"{p['name']}@{p['version']}" for p in packages if p["status"] == "installed"],
        capacity=capabilities["concurrency"]["max_parallel"],
        meta=msgspec.json.encode(meta).decode(),
        tenant=who(request).works_for,
    )
    return reply(view(request, row))


async def beat(request: Request, fields: Fields) -> Response:
    worker_id = who(request).check_worker(worker_id_in(fields))
    status, metrics = fields.get("status"), fields.get("metrics")
    healthy = fields.get("healthy")
    if healthy is None:
        healthy = status.get("healthy", True) if is_object(status) else status != "unhealthy"
    if not isinstance(healthy, bool):
        raise BadRequest("healthy must be true or false")
    if metrics is None and is_object(status):
        metrics = status.get("metrics")
    if metrics is not None and not is_object(metrics):
        raise BadRequest("metrics must be an object")
    found = {"healthy": healthy, "metrics": metrics or {}}
    given = packages_in(fields) if is_list(fields.get("packages")) else None
    row = await workers.beat_link(engine_of(request), worker_id, found, given)
    if row is None:
        raise NotFound(f'unknown worker "{worker_id}"; register again')
    return reply(view(request, row))


def view(request: Request, row: Worker) -> AnnouncedView:
    engine, settings = engine_of(request), context_of(request).link.settings
    return AnnouncedView(
        worker_id=row.id,
        state=state_of(engine, row),
        tenant=settings.tenant,
        link=_LINK,
        heartbeat_s=engine.settings.worker_ttl_s / 3,
    )


def worker_id_in(fields: Fields) -> str:
    for name in ("workerid", "workername", "id"):
        found = fields.get(name)
        if isinstance(found, str) and found:
            return found
    raise BadRequest("workerId is missing; it is the worker's name")


def packages_in(fields: Fields) -> list[dict[str, str]]:
    """What a worker says it has: objects, or texts `name@version`."""
    given: Any = fields.get("packages") or []
    if not is_list(given):
        raise BadRequest("packages must be a list")
    found: list[dict[str, str]] = []
    for item in given:
        if isinstance(item, str):
            name, _, version = item.rpartition("@")
            item = {"name": name, "version": version}
        if not is_object(item) or not item.get("name") or not item.get("version"):
            raise BadRequest('each package is {"name": …, "version": …, "status": …}')
        status = str(item.get("status") or "installed")
        found.append({"name": str(item["name"]), "version": str(item["version"]), "status": status})
    return found


def capabilities_in(fields: Fields) -> dict[str, Any]:
    """What a worker can do: the object of the wire, or only a list of features."""
    given = fields.get("capabilities")
    known = given if is_object(given) else {}
    features = given if is_list(given) else known.get("features") or []
    concurrency = known.get("concurrency")
    limits: dict[str, Any] = concurrency if is_object(concurrency) else {}
    most = limits.get("max_parallel", limits.get("maxParallel", 1))
    if not isinstance(most, int) or most < 1:
        raise BadRequest("capabilities.concurrency.max_parallel must be a number from 1")
    concurrency = {**limits, "max_parallel": most}
    concurrency.pop("maxParallel", None)
    runtimes: Any = known.get("runtimes") or []
    return {"concurrency": concurrency, "runtimes": runtimes, "features": features}

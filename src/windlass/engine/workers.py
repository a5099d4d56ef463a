"""Workers: who is there, what they serve, when they were last heard of."""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from windlass.engine.engine import Engine
from windlass.model.errors import BadRequest, Conflict
from windlass.model.rows import Worker
from windlass.model.tenants import ALL
from windlass.model.values import is_object
from windlass.ports.store import Cond

CONNECTED = "connected"
"""In what is kept of a worker on the link: false once its line is cut."""
PLAIN = "plainServices"
"""There too: what it serves that comes with no package."""
CONTROL, API = "control", "api"
"""In place of a transport: processes of ours, with the control plane and without."""
LIVE = ("online", "draining")
"""States of a worker that is there: it takes work, or only ends what it has."""
_HEARD = (*LIVE, "registered")
_ID_MAX = 200
_SERVICES_MAX = 256


def check_services(services: Sequence[str]) -> None:
    """Refuse names no queue can have, and more of them than a worker can mean."""
    if len(services) > _SERVICES_MAX:
        raise BadRequest(f"a worker serves at most {_SERVICES_MAX} services")
    for name in services:
        if not name or len(name) > _ID_MAX or not name.isprintable():
            raise BadRequest(f"{name[:50]!r} is not the name of a service")


def check_id(worker_id: str) -> None:
    if not worker_id or len(worker_id) > _ID_MAX:
        raise BadRequest(f"a worker needs an id of 1 to {_ID_MAX} characters")
    if not worker_id.isprintable():
        raise BadRequest(f"{worker_id[:50]!r} cannot be a worker's id")


async def check_free(engine: Engine, worker_id: str, tenant: str) -> None:
    """Refuse a name that a worker of somebody else has; a system's operator may take any."""
    known = await get_worker(engine.system, worker_id) if tenant != ALL else None
    if known is not None and known.tenant != tenant and state_of(engine, known) in LIVE:
        raise Conflict(f'the name "{worker_id}" is taken on this server; choose another')


async def register(
    engine: Engine,
    worker_id: str,
    *,
    transport: str,
    url: str = "",
    services: Sequence[str] = (),
    capacity: int = 0,
    meta: str = "{}",
    tenant: str = ALL,
) -> Worker:
    """Add a worker of a tenant, or of all, or take it back under its old id."""
    check_id(worker_id)
    await check_free(engine, worker_id, tenant)
    if transport != CONTROL:
        check_services(services)
    now = engine.store.now()
    worker = Worker(
        id=worker_id,
        url=url,
        transport=transport,
        services=msgspec.json.encode(list(services)).decode(),
        capacity=capacity,
        meta=meta,
        registered_at=now,
        seen_at=now,
        tenant=tenant,
    )
    await engine.write(worker)
    return worker


async def register_link(
    engine: Engine,
    worker_id: str,
    *,
    packages: Sequence[str],
    capacity: int,
    meta: str,
    tenant: str = ALL,
) -> Worker:
    """Announce a worker before it is on the link; one that is there already stays as it is."""
    known = await get_worker(engine, worker_id)
    if known is not None and known.transport == "link" and state_of(engine, known) in LIVE:
        return known
    check_id(worker_id)
    await check_free(engine, worker_id, tenant)
    check_services(packages)
    now = engine.store.now()
    worker = Worker(
        id=worker_id,
        transport="link",
        services=msgspec.json.encode(list(packages)).decode(),
        capacity=capacity,
        state="registered",
        meta=meta,
        registered_at=now,
        seen_at=now,
        tenant=tenant,
    )
    if known is None:
        await engine.write(worker)
        return worker

    def announced(found: Worker) -> Worker | None:
        there = found.transport == "link" and state_of(engine, found) in LIVE
        return None if there else replace(worker, registered_at=found.registered_at)

    # It may have come to the link meanwhile.
    return await engine.update(Worker, worker_id, announced) or known


async def beat_link(
    engine: Engine, worker_id: str, heartbeat: object, packages: object = None
) -> Worker | None:
    """Note what a worker of the link says of itself elsewhere; None when it never registered."""
    now = engine.store.now()

    def seen(worker: Worker) -> Worker:
        meta = msgspec.json.decode(worker.meta, type=dict[str, object]) | {"heartbeat": heartbeat}
        if packages is not None:
            meta["packages"] = packages
        state = worker.state if worker.state in LIVE else "registered"
        text = msgspec.json.encode(meta).decode()
        return replace(worker, seen_at=now, state=state, meta=text)

    return await engine.update(Worker, worker_id, seen)


async def heartbeat(engine: Engine, worker_id: str, load: int | None = None) -> bool:
    """Note that a worker is alive; False when nobody of that id has registered, or it said goodbye
    since: what is heard of it then was said before."""
    now = engine.store.now()

    def seen(worker: Worker) -> Worker | None:
        if worker.state == "offline":
            return None
        busy = worker.load if load is None else max(0, load)
        return replace(worker, seen_at=now, state="online", load=busy)

    return await engine.update(Worker, worker_id, seen) is not None


async def get_worker(engine: Engine, worker_id: str) -> Worker | None:
    async with engine.store.session() as session:
        rows = await session.rows(Worker, [worker_id])
    return rows[0] if rows else None


async def get_workers(engine: Engine, worker_ids: Sequence[str]) -> Sequence[Worker]:
    async with engine.store.session() as session:
        return await session.rows(Worker, list(worker_ids))


async def leave(engine: Engine, worker_id: str) -> bool:
    """A worker says goodbye."""
    gone = await engine.update(
        Worker, worker_id, lambda worker: replace(worker, state="offline", load=0)
    )
    return gone is not None


async def live_workers(
    engine: Engine, *, transport: str | None = None, ttl_s: float | None = None
) -> list[Worker]:
    """Workers heard of within the time-to-live, least loaded first."""
    ttl = engine.settings.worker_ttl_s if ttl_s is None else ttl_s
    where = [Cond("seen_at", ">", engine.store.now() - int(ttl * 1000))]
    where.append(Cond("state", "=", "online"))
    if transport is not None:
        where.append(Cond("transport", "=", transport))
    rows = await engine.store.page(Worker, where, limit=10_000)
    return sorted(rows, key=lambda worker: (worker.load, worker.id))


async def count_workers(engine: Engine) -> dict[str, int]:
    """Workers by state. Our own processes keep a row among them, but take no work from others."""
    since = engine.store.now() - int(engine.settings.worker_ttl_s * 1000)
    theirs = [Cond("transport", "!=", CONTROL), Cond("transport", "!=", API)]
    gone = Cond("state", "=", "offline")
    heard = {state: [Cond("state", "=", state), Cond("seen_at", ">=", since)] for state in _HEARD}
    late = [Cond("state", "!=", "offline"), Cond("seen_at", "<", since)]
    counts = {
        state: await engine.store.count(Worker, [*theirs, *where])
        for state, where in {**heard, "late": late, "offline": [gone]}.items()
    }
    return {state: n for state, n in counts.items() if n}


def meta_of(worker: Worker) -> dict[str, Any]:
    """What a worker said of itself."""
    found = msgspec.json.decode(worker.meta)
    return found if is_object(found) else {}


def services_of(worker: Worker) -> list[str]:
    """What a worker serves; on the link, `package@version`."""
    return msgspec.json.decode(worker.services, type=list[str])


def serves(worker: Worker, service: str) -> bool:
    return service in services_of(worker)


def is_there(engine: Engine, worker: Worker) -> bool:
    """Whether a worker of the link can be counted on: heard of lately, and its line not cut."""
    gone = state_of(engine, worker) in ("late", "offline")
    return not gone and meta_of(worker).get(CONNECTED) is not False


def state_of(engine: Engine, worker: Worker) -> str:
    """online, draining, registered (not yet on its link), late (not heard of within the
    time-to-live) or offline."""
    if worker.state == "offline":
        return worker.state
    age_ms = engine.store.now() - worker.seen_at
    return worker.state if age_ms <= engine.settings.worker_ttl_s * 1000 else "late"

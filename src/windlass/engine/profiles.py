"""Profiles: who could be given a task just now, for whoever plans some."""

import msgspec

from windlass.model.plans import BUILT_IN
from windlass.model.rows import Worker
from windlass.model.tenants import ALL
from windlass.ports.store import Cond, Store

_WORKERS_MAX = 1_000
_TOLD_MAX = 500
_HEARD_OF_MS = 30_000
"""How long ago a worker has been heard of at most."""


async def profiles_served(store: Store, tenant: str) -> tuple[str, ...]:
    """The services that workers of a tenant, or of all, serve, and what is built in."""
    where = [
        Cond("seen_at", ">", store.now() - _HEARD_OF_MS),
        Cond("state", "=", "online"),
        Cond("tenant", "in", [tenant, ALL]),
    ]
    rows = await store.page(Worker, where, limit=_WORKERS_MAX)
    services = {name for row in rows for name in msgspec.json.decode(row.services, type=list[str])}
    return tuple(sorted(services | BUILT_IN)[:_TOLD_MAX])

"""Presence: which workers are alive, without writing a row at every exchange."""

from windlass.engine import workers
from windlass.engine.engine import Engine
from windlass.model.tenants import ALL


class Presence:
    """Notes workers as seen at most every few seconds each."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._written: dict[tuple[str, str], int] = {}

    async def seen(self, worker_id: str, load: int | None = None, *, tenant: str = ALL) -> bool:
        """Note a sign of life of a worker that works for a tenant, or for all; False when it never
        registered, `Conflict` if somebody else's has its name."""
        now = self._engine.store.now()
        every_ms = self._engine.settings.worker_ttl_s * 1000 / 3
        if now - self._written.get((tenant, worker_id), 0) < every_ms:
            return True
        if tenant != ALL:
            await workers.check_free(self._engine, worker_id, tenant)
        known = await workers.heartbeat(self._engine, worker_id, load)
        if known:
            self._written[tenant, worker_id] = now
        return known

    def forget(self, worker_id: str) -> None:
        for key in [key for key in self._written if key[1] == worker_id]:
            del self._written[key]

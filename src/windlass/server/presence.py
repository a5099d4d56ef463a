"""Presence: which workers are alive, without writing a row at every exchange."""

from windlass.engine import workers
from windlass.engine.engine import Engine


class Presence:
    """Notes workers as seen at most every few seconds each."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._written: dict[str, int] = {}

    async def seen(self, worker_id: str, load: int | None = None) -> bool:
        """Note a sign of life; False when the worker never registered."""
        now = self._engine.store.now()
        every_ms = self._engine.settings.worker_ttl_s * 1000 / 3
        if now - self._written.get(worker_id, 0) < every_ms:
            return True
        known = await workers.heartbeat(self._engine, worker_id, load)
        if known:
            self._written[worker_id] = now
        return known

    def forget(self, worker_id: str) -> None:
        self._written.pop(worker_id, None)

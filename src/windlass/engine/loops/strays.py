"""Finds tasks that wait for one worker which is gone, and lets others have them."""

import asyncio

from windlass.engine.engine import Engine
from windlass.engine.loops.forever import raise_outage
from windlass.engine.workers import get_worker, state_of
from windlass.kernel.events import RebindRequested
from windlass.model.queues import owner_of


class Strays:
    """A worker has a while to come back: its time-to-live and one lease more."""

    def __init__(self, engine: Engine, batch_max: int = 500) -> None:
        self._engine = engine
        self._batch_max = batch_max

    async def run_once(self) -> int:
        store = self._engine.store
        owned: dict[str, list[str]] = {}
        for row in await store.query("queue_names"):
            owner = owner_of(row["queue"])
            if owner is not None:
                owned.setdefault(owner, []).append(row["queue"])
        moved = 0
        for worker_id, queues in owned.items():
            if await self._is_gone(worker_id):
                rows = await store.query("queued_runs", queues=queues, count_max=self._batch_max)
                events = [RebindRequested(row["run_id"], lost=worker_id) for row in rows]
                results = await asyncio.gather(
                    *(self._engine.submit(event) for event in events), return_exceptions=True
                )
                moved += len(rows) - raise_outage(results)
        return moved

    async def _is_gone(self, worker_id: str) -> bool:
        worker = await get_worker(self._engine, worker_id)
        if worker is None or worker.state == "offline":
            return True
        if state_of(self._engine, worker) != "late":
            return False
        grace_ms = (self._engine.settings.worker_ttl_s + self._engine.settings.lease_s) * 1000
        return self._engine.store.now() - worker.seen_at > grace_ms

    async def pause(self) -> None:
        await asyncio.sleep(self._engine.settings.look_s)

"""Finds tasks that wait for one worker which cannot do them, and lets others have them."""

import asyncio
from collections import defaultdict

from windlass.engine.engine import Engine
from windlass.engine.loops.forever import raise_outage
from windlass.engine.workers import serves, state_of
from windlass.kernel.events import RebindRequested
from windlass.model.queues import owner_of, package_of, tenant_of
from windlass.model.rows import Worker
from windlass.model.tenants import ALL


def can_serve(worker: Worker, queue: str) -> bool:
    """Whether a worker takes tasks from its own queue: it has the package, and the task is of a
    tenant it works for."""
    return serves(worker, package_of(queue)) and worker.tenant in (ALL, tenant_of(queue))


class OrphanedTasks:
    """A worker has a while to come back: its time-to-live and one lease more."""

    def __init__(self, engine: Engine, batch_max: int = 500) -> None:
        self._engine = engine
        self._batch_max = batch_max
        self._looked_at: int | None = None
        self._since = 0
        """Since when we have looked without a break; before that nobody could note who was
        there."""

    async def run_once(self) -> int:
        store = self._engine.store
        owned: defaultdict[str, list[str]] = defaultdict(list)
        for row in await store.query("queue_names"):
            owner = owner_of(row["queue"])
            if owner is not None:
                owned[owner].append(row["queue"])
        self._note_look()
        if not owned:
            return 0
        async with store.session() as session:
            known = {worker.id: worker for worker in await session.rows(Worker, sorted(owned))}
        moved = 0
        for worker_id, queues in owned.items():
            worker = known.get(worker_id)
            if worker is None or self._is_gone(worker):
                moved += await self._move(worker_id, queues, gone=True)
            else:
                lacking = [queue for queue in queues if not can_serve(worker, queue)]
                moved += await self._move(worker_id, lacking, gone=False)
        return moved

    async def _move(self, worker_id: str, queues: list[str], *, gone: bool) -> int:
        if not queues:
            return 0
        engine = self._engine
        rows = await engine.store.query("queued_runs", queues=queues, count_max=self._batch_max)
        events = [RebindRequested(row["run_id"], lost=worker_id, gone=gone) for row in rows]
        results = await asyncio.gather(*map(engine.submit, events), return_exceptions=True)
        return len(rows) - raise_outage(results)

    @property
    def _grace_ms(self) -> float:
        return (self._engine.settings.worker_ttl_s + self._engine.settings.lease_s) * 1000

    def _note_look(self) -> None:
        now = self._engine.store.now()
        if self._looked_at is None or now - self._looked_at > self._grace_ms / 2:
            self._since = now
        self._looked_at = now

    def _is_gone(self, worker: Worker) -> bool:
        if worker.state == "offline" or worker.transport != "link":
            return True
        if state_of(self._engine, worker) != "late":
            return False
        silent_since = max(worker.seen_at, self._since)
        return self._engine.store.now() - silent_since > self._grace_ms

    async def pause(self) -> None:
        await asyncio.sleep(self._engine.settings.look_s)

"""Takes work back from holders that no longer renew their leases."""

import asyncio

from windlass.engine.engine import Engine
from windlass.engine.loops.forever import PassedOver
from windlass.kernel.events import LeaseExpired


class Leases:
    def __init__(self, engine: Engine, batch_max: int = 500) -> None:
        self._engine = engine
        self._batch_max = batch_max
        self._passed_over = PassedOver(engine.settings.look_s * 1000)

    async def run_once(self) -> int:
        store = self._engine.store
        now = store.now()
        rows = await store.query(
            "expired_leases",
            now=now,
            count_max=self._batch_max,
            passed_over=self._passed_over.count(now),
        )
        events = [LeaseExpired(row["id"], row["lease_until"]) for row in rows]
        results = await asyncio.gather(
            *(self._engine.submit(event) for event in events), return_exceptions=True
        )
        self._passed_over.add(results)
        return len(rows)

    async def pause(self) -> None:
        await asyncio.sleep(self._engine.settings.sweep_s)

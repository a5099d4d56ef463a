"""Forgets workers nobody has heard of for long, processes that ran the control plane once, and what
workers said is in packages that none of them has any more; and what a worker that never came back
was to be told; keys of limits that nobody uses; and bulk jobs that are over."""

import asyncio
from collections.abc import Sequence
from typing import Any

from windlass.engine.engine import Engine
from windlass.engine.jobs import Outdated
from windlass.engine.loops.forever import raise_outage
from windlass.engine.workers import API, CONTROL, services_of
from windlass.model.bulk import BulkItem, BulkJob
from windlass.model.dead_letters import DeadLetter
from windlass.model.effects import RELEASE, Effect
from windlass.model.limits import LimitUse
from windlass.model.packages import Manifest
from windlass.model.rows import Row, Worker
from windlass.ports.store import Cond

_LIMIT_IDLE_MS = 600_000
_BULK_KEPT_S = 7 * 86_400.0


class Pruning:
    def __init__(self, engine: Engine, every_s: float = 600.0, batch_max: int = 500) -> None:
        self._engine = engine
        self._every_s = every_s
        self._batch_max = batch_max

    async def run_once(self) -> int:
        settings = self._engine.settings
        theirs = [Cond("transport", "!=", CONTROL), Cond("transport", "!=", API)]
        pruned = await self._workers(theirs, settings.worker_kept_s)
        for own in (CONTROL, API):
            pruned += await self._workers([Cond("transport", "=", own)], settings.control_kept_s)
        pruned += await self._releases(settings.worker_kept_s)
        pruned += await self._limits()
        pruned += await self._bulk_jobs(_BULK_KEPT_S)
        return pruned + await self._manifests(settings.manifest_kept_s)

    async def _releases(self, kept_s: float) -> int:
        """A worker that never came back is not told any more that a run is over."""
        where = [Cond("kind", "=", RELEASE), Cond("created_at", "<", self._before(kept_s))]
        rows = await self._engine.store.page(
            Effect, where, order="created_at", limit=self._batch_max
        )
        return await self._remove(rows)

    async def _bulk_jobs(self, kept_s: float) -> int:
        """Bulk jobs that were over long ago, with their items; what they did is in the audit."""
        where = [Cond("finished_at", "<", self._before(kept_s))]
        jobs = await self._engine.store.page(BulkJob, where, order="finished_at", limit=20)
        for job in jobs:
            of_job = [Cond("job_id", "=", job.id)]
            while items := await self._engine.store.page(BulkItem, of_job, limit=self._batch_max):
                await self._remove(items)
        return await self._remove(jobs)

    async def _limits(self) -> int:
        """Keys nobody has used for a while: they would begin just so if they were used again."""
        pruned, after = 0, ""
        now = self._engine.store.now()
        while True:
            where = [Cond("id", ">", after), Cond("in_use", "=", 0), Cond("parked", "=", 0)]
            where += [Cond("spent", "=", 0), Cond("raised", "=", 0)]
            idle = [Cond("used_at", "<", now - _LIMIT_IDLE_MS), Cond("paused_until", "<=", now)]
            rows = await self._engine.store.page(
                LimitUse, [*where, *idle, Cond("next_us", "<=", now * 1000)], limit=self._batch_max
            )
            pruned += await self._remove(rows)
            if len(rows) < self._batch_max:
                return pruned
            after = rows[-1].id

    async def _workers(self, some: list[Cond], kept_s: float) -> int:
        settings = self._engine.settings
        # Whoever may still come back under its leases is not forgotten, whatever was set.
        kept_s = max(kept_s, settings.worker_ttl_s + settings.lease_s)
        where = [Cond("seen_at", "<", self._before(kept_s)), *some]
        rows = await self._engine.store.page(Worker, where, order="seen_at", limit=self._batch_max)
        return await self._remove(rows)

    async def _manifests(self, kept_s: float) -> int:
        """Those of packages that a worker still has are looked at again the next time."""
        pruned, after = 0, ""
        in_use: frozenset[str] | None = None
        while True:
            where = [Cond("reported_at", "<", self._before(kept_s)), Cond("package", ">", after)]
            rows = await self._engine.store.page(
                Manifest, where, order="package", limit=self._batch_max
            )
            if not rows:
                return pruned
            if in_use is None:
                in_use = await self._packages()
            pruned += await self._remove([row for row in rows if row.package not in in_use])
            after = rows[-1].package

    async def _packages(self) -> frozenset[str]:
        """Every `name@version` that a worker has, as far as it is remembered."""
        found: set[str] = set()
        after = ""
        while True:
            where = [Cond("transport", "=", "link"), Cond("id", ">", after)]
            rows = await self._engine.store.page(Worker, where, limit=self._batch_max)
            if not rows:
                return frozenset(found)
            found.update(name for row in rows for name in services_of(row))
            after = rows[-1].id

    async def _remove(self, rows: Sequence[Row]) -> int:
        """Remove rows, but none that has changed since it was read: its worker is back."""
        engine = self._engine
        writes = (engine.write(removed=gone_with(row), stands=(row,)) for row in rows)
        results = await asyncio.gather(*writes, return_exceptions=True)
        back = sum(isinstance(result, Outdated) for result in results)
        return len(rows) - back - raise_outage([r for r in results if not isinstance(r, Outdated)])

    def _before(self, kept_s: float) -> int:
        return self._engine.store.now() - int(kept_s * 1000)

    async def pause(self) -> None:
        await asyncio.sleep(self._every_s)


def gone_with(row: Row) -> dict[type[Row], set[Any]]:
    """A row, and what is said of it elsewhere."""
    removed: dict[type[Row], set[Any]] = {type(row): {row.pk}}
    if isinstance(row, Effect):
        removed[DeadLetter] = {row.id}
    return removed

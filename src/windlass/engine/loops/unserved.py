"""Fails calls that nobody is there for, in flows whose dialect says so.

PocketFlow's own scheduler fails a node at once when no live worker offers its service, or when it
does not know the function; our flows wait. Flows that were published on its surface are failed as
it would, but only after a while: a worker or a server that restarts is no reason. Each try is an
attempt like any other, so that a node's retries count.
"""

import asyncio
from collections.abc import Sequence

from windlass.engine.engine import Engine
from windlass.engine.flows import POCKETFLOW
from windlass.engine.loops.forever import raise_outage
from windlass.engine.workers import live_workers, services_of
from windlass.kernel.events import AttemptFailed, Claim
from windlass.model.assignment import Assignment
from windlass.model.queues import transport_of
from windlass.model.rows import Failure
from windlass.model.tenants import ALL

FAILURES = {
    "push": Failure("failed", "no worker"),
    "local": Failure("fatal", "fatal error"),
}
"""By transport: how PocketFlow says that nobody is there."""


class UnservedCalls:
    def __init__(self, engine: Engine, batch_max: int = 200) -> None:
        self._engine = engine
        self._batch_max = batch_max
        self._since: dict[str, int] = {}
        """Queues with tasks that nobody serves, and when they were first found so."""

    async def run_once(self) -> int:
        engine = self._engine
        now, grace_ms = engine.store.now(), int(engine.settings.no_worker_s * 1000)
        rows = await engine.store.query("queue_names")
        waiting = [row["queue"] for row in rows if transport_of(row["queue"]) in FAILURES]
        served = await self._served(waiting) if waiting else set[str]()
        self._since = {
            queue: self._since.get(queue, now) for queue in waiting if queue not in served
        }
        due = [queue for queue, since in self._since.items() if now - since >= grace_ms]
        if not due:
            return 0
        found = await engine.store.query(
            "unserved_tasks",
            queues=due,
            before=now - grace_ms,
            dialect=POCKETFLOW,
            count_max=self._batch_max,
        )
        ends = (self._fail(row["id"]) for row in found)
        results = await asyncio.gather(*ends, return_exceptions=True)
        return len(found) - raise_outage(results)

    async def _served(self, waiting: Sequence[str]) -> set[str]:
        """Queues somebody is there for: push workers, and servers that do their work themselves."""
        tenants = self._engine.tenants
        found: set[str] = set()
        for worker in await live_workers(self._engine, transport="push"):
            queues = [f"push:{service}" for service in services_of(worker)]
            found.update(tenants.queues(worker.tenant, queues))
        servers = await live_workers(self._engine, transport="control")
        if not servers:  # this one has yet to say what it does
            found.update(queue for queue in waiting if transport_of(queue) == "local")
        for worker in servers:
            found.update(tenants.queues(ALL, services_of(worker)))
        return found

    async def _fail(self, task_id: str) -> None:
        engine = self._engine
        lease_ms = int(engine.settings.lease_s * 1000)
        claim = Claim(task_id, "", "", engine.name, lease_ms)
        given: Assignment | None = await engine.submit(claim)
        if given is not None:
            await engine.submit(AttemptFailed(given.attempt_id, FAILURES[given.transport]))

    async def pause(self) -> None:
        await asyncio.sleep(min(1.0, self._engine.settings.look_s))

"""A simulated pull worker: claims, works, renews and reports over the network.

It is stubborn: a result it has is offered until a server takes it, calls it a duplicate or refuses
it as stale, however late that is. So every fence is tried.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from windlass.model.assignment import Assignment
from windlass.model.errors import StaleLease, Unavailable
from windlass.model.rows import Failure
from windlass.testing.simulator.flows import PULL
from windlass.testing.simulator.handlers import Result
from windlass.testing.simulator.host import WorkerHost
from windlass.testing.simulator.limits import usage_of
from windlass.testing.simulator.server import Server

T = TypeVar("T")
_POLL_S = 2.0


class Worker(WorkerHost):
    """A worker of its own kind, which calls the engine directly."""

    def __init__(self, *parts: Any, accepted: Callable[[str, str], None]) -> None:
        super().__init__(*parts)
        self._accepted = accepted
        self._rng = self.plan.rng(f"worker:{self.name}")
        self._pace = self._rng.uniform(0.5, 2.0) if self.plan.has("skew") else 1.0
        """How fast its own clock runs."""
        self._services = list(PULL)
        self._slots = self._rng.randint(1, 4)
        self._held: dict[str, asyncio.Task[None]] = {}

    async def live(self) -> None:
        self._held = {}
        self.spawn(self._keep())
        await self._work()

    async def _ask(self, serve: Callable[[Server], Awaitable[T]], timeout_s: float) -> T:
        server = self._rng.choice(self.servers)
        return await self.network.call(self.name, server, lambda: serve(server), timeout_s)

    async def _work(self) -> None:
        queues = [f"pull:{service}" for service in self._services]
        while True:
            free = self._slots - len(self._held)
            if free <= 0:
                await asyncio.sleep(0.05)
                continue
            try:
                given = await self._ask(
                    lambda server, free=free: server.attempts.claim(  # type: ignore[misc]
                        self.name, queues, free, _POLL_S
                    ),
                    _POLL_S + 1.0,
                )
            except Unavailable:
                await asyncio.sleep(0.2)
                continue
            for assignment in given:
                if assignment.attempt_id not in self._held:
                    task = asyncio.ensure_future(self._attempt(assignment))
                    self._held[assignment.attempt_id] = task

    async def _attempt(self, assignment: Assignment) -> None:
        attempt_id = assignment.attempt_id
        try:
            if self._rng.random() < 0.3:
                await self._say_started(attempt_id)
            result = await self.handlers.perform(assignment.attempt_id, assignment.role)
            self._held.pop(attempt_id, None)
            await self._report(attempt_id, result)
        finally:
            self._held.pop(attempt_id, None)

    async def _say_started(self, attempt_id: str) -> None:
        try:
            await self._ask(lambda server: server.attempts.started(attempt_id), 1.0)
        except (Unavailable, StaleLease):
            return

    async def _report(self, attempt_id: str, result: Result) -> None:
        def send(server: Server) -> Awaitable[str]:
            if isinstance(result, Failure):
                return server.attempts.failed(attempt_id, result, usage=usage_of(attempt_id))
            return server.attempts.succeeded(attempt_id, result, usage=usage_of(attempt_id))

        while True:
            try:
                answer = await self._ask(send, 3.0)
            except StaleLease:
                return
            except Unavailable:
                await asyncio.sleep(self._rng.uniform(0.1, 0.5))
                continue
            if not isinstance(result, Failure):
                self._accepted(attempt_id, answer)
            return

    async def _keep(self) -> None:
        """Renew what it holds, by its own clock; stop what it was asked to stop, or not."""
        while True:
            await asyncio.sleep(self.plan.lease_s / 3 * self._pace)
            held = list(self._held)
            if not held:
                continue
            try:
                kept = await self._ask(lambda server, ids=held: server.attempts.renew(ids), 1.0)  # type: ignore[misc]
            except Unavailable:
                continue
            for attempt_id in held:
                asked = kept.get(attempt_id, True)
                task = self._held.get(attempt_id)
                if asked and task is not None and self._rng.random() < 0.5:
                    task.cancel()
                    self._held.pop(attempt_id, None)
                    if attempt_id in kept:
                        stopped = Failure("cancelled", "asked to stop")
                        self.spawn(self._report(attempt_id, stopped))

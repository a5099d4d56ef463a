"""A simulated host that runs the real pull worker against the real web application."""

import asyncio
import random
from collections.abc import Callable
from typing import Any

import msgspec

from windlass.client.transport import Answer
from windlass.model.errors import WindlassError
from windlass.model.rows import Failure
from windlass.protocol.exchange import Registration, Reply, Result
from windlass.testing.simulator import asgi
from windlass.testing.simulator.flows import PULL
from windlass.testing.simulator.host import WorkerHost
from windlass.testing.simulator.network import Network
from windlass.testing.simulator.server import Server
from windlass.worker import Context, PermanentError, TemporaryError
from windlass.worker.calls import ServerCalls
from windlass.worker.lease_renewer import LeaseRenewer
from windlass.worker.leases import Leases
from windlass.worker.pull import PullLoop
from windlass.worker.pull_state import PullState
from windlass.worker.registry import Worker
from windlass.worker.runtime import Runtime

_DRAIN_S = 5.0


class Wire:
    """A connection that asks any server, over the network."""

    def __init__(self, name: str, network: Network, servers: list[Server], rng: random.Random):
        self._name = name
        self._network = network
        self._servers = servers
        self._rng = rng

    async def request(self, method: str, path: str, body: bytes, timeout_s: float) -> Answer:
        server = self._rng.choice(self._servers)
        return await self._network.call(
            self._name, server, lambda: asgi.request(server.app, method, path, body), timeout_s
        )

    def close(self) -> None:
        """There is nothing to close."""


class Books(PullState):
    """The worker's books, which also tell the world what counts."""

    accepted: Callable[[str, str], None]

    def absorb(self, batch: list[Result], reply: Reply, asked_at: float) -> None:
        good = {r.attempt_id for r in batch if isinstance(r.error, msgspec.UnsetType)}
        for receipt in reply.results:
            if receipt.attempt_id in good and receipt.status in ("accepted", "duplicate"):
                self.accepted(receipt.attempt_id, receipt.status)
        super().absorb(batch, reply, asked_at)


class LoopRenewer(LeaseRenewer):
    """The renewer without its thread: the same beats, on the simulated loop."""

    calls: ServerCalls

    def start(self) -> None:
        self._beating = asyncio.ensure_future(self._beats())

    def stop(self) -> None:
        self._beating.cancel()

    async def _beats(self) -> None:
        while True:
            until_expiry = self._leases.next_expiry - self._clock()
            await asyncio.sleep(max(0.05, min(self._interval_s, until_expiry)))
            await self._beat()

    async def _beat(self) -> None:
        asked_at = self._clock()
        message = self.question()
        try:
            async with asyncio.timeout(self._timeout_s(asked_at)):
                reply = await self.calls.exchange(message)
                if not reply.known:
                    self.set_terms(await self.calls.register())
        except (WindlassError, TimeoutError):
            self._down = True
        else:
            self.heard(reply, message, asked_at)
        self.expire()


class PullWorker(WorkerHost):
    """The real pull worker."""

    def __init__(self, *parts: Any, accepted: Callable[[str, str], None]) -> None:
        super().__init__(*parts)
        self._accepted = accepted
        self._rng = self.plan.rng(f"pull:{self.name}")
        self._slots = self._rng.randint(1, 4)
        self._wire = Wire(self.name, self.network, self.servers, self._rng)
        self._services = Worker()
        bounds = self.plan.rng(f"bounds:{self.name}")
        for service in PULL:
            self._services.add(service, self._handle, concurrency=bounds.choice((None, None, 1, 2)))

    async def _handle(self, context: Context) -> Any:
        result = await self.handlers.perform(context.attempt_id, context.role)
        if not isinstance(result, Failure):
            return msgspec.json.decode(result)
        if result.kind == "fatal":
            raise PermanentError(result.message)
        wait = result.retry_after_ms
        raise TemporaryError(result.message, retry_after_s=None if wait is None else wait / 1000)

    async def live(self) -> None:
        clock = self.loop.time
        runtime = Runtime(self._services, self._slots)
        registration = Registration(
            id=self.name, transport="pull", services=list(PULL), capacity=self._slots
        )
        leases = Leases(clock)
        books = Books(runtime, leases, clock)
        books.accepted = self._accepted
        calls = [ServerCalls(self._wire, registration) for _ in range(3)]
        unused: Any = None
        renewer = LoopRenewer(unused, leases, list(PULL), lambda: runtime.load, clock)
        renewer.calls = calls[2]
        await PullLoop(calls[0], calls[1], books, renewer, clock, self._rng).run(_DRAIN_S)

"""The simulated network: requests and answers that get lost, repeated, delayed and reordered."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeVar

from windlass.model.errors import Unavailable, WindlassError
from windlass.testing.simulator.loop import VirtualLoop
from windlass.testing.simulator.plan import Plan
from windlass.testing.simulator.process import Process, outside

T = TypeVar("T")


class Host(Protocol):
    """Where requests can be sent; its process is None while it is down."""

    name: str
    process: Process | None


class Network:
    """Every link between two hosts. `calm` ends all trouble."""

    def __init__(self, loop: VirtualLoop, plan: Plan, failed: Callable[[BaseException], None]):
        self._loop = loop
        self._rng: random.Random = plan.rng("network")
        self._plan = plan
        self._failed = failed
        self._cut: dict[tuple[str, str], float] = {}
        self._loss = self._rng.uniform(0.01, 0.2) if plan.has("loss") else 0.0
        self._repeat = self._rng.uniform(0.01, 0.2) if plan.has("duplicate") else 0.0
        self._slow_s = self._rng.choice((0.1, 1.0, 8.0)) if plan.has("delay") else 0.0
        self.calm = False

    def cut(self, one: str, two: str, until: float) -> None:
        """Nothing gets through between two hosts until then."""
        self._cut[min(one, two), max(one, two)] = until

    async def call(
        self, caller: str, host: Host, serve: Callable[[], Awaitable[T]], timeout_s: float
    ) -> T:
        """Ask a host; `Unavailable` means that nobody knows whether it did what was asked."""
        answer: asyncio.Future[T] = self._loop.create_future()
        copies = 2 if self._happens(self._repeat) else 1
        for _ in range(copies):
            self._send(caller, host.name, lambda: self._arrive(caller, host, serve, answer))
        try:
            async with asyncio.timeout(timeout_s):
                return await answer
        except TimeoutError:
            raise Unavailable(f"{host.name} did not answer in time", 0.1) from None

    # Streams, for whoever keeps a connection open

    def is_cut(self, one: str, two: str) -> bool:
        until = self._cut.get((min(one, two), max(one, two)), 0.0)
        return not self.calm and until > self._loop.time()

    def copies(self) -> int:
        """How often a frame is delivered, if it is."""
        return 2 if self._happens(self._repeat / 4) else 1

    def reorders(self) -> bool:
        return self._happens(self._repeat / 4)

    def breaks(self) -> bool:
        """Whether an open connection breaks now, for no reason."""
        return self._happens(self._loss / 10)

    def delay_s(self, one: str, two: str) -> float | None:
        """How long a frame takes; None for one that is lost."""
        if self.is_cut(one, two) or self._happens(self._loss / 4):
            return None
        delay = self._rng.uniform(0.0005, 0.005)
        if self._slow_s and self._happens(0.1):
            delay += self._rng.uniform(0, self._slow_s)
        return delay

    def _happens(self, share: float) -> bool:
        return not self.calm and share > 0 and self._rng.random() < share

    def _send(self, one: str, two: str, deliver: Callable[[], None]) -> None:
        """Put a message on its way, unless it is lost."""
        if self.is_cut(one, two) or self._happens(self._loss):
            return
        delay = self._rng.uniform(0.0005, 0.005)
        if self._slow_s and self._happens(0.3):
            delay += self._rng.uniform(0, self._slow_s)
        self._loop.call_later(delay, deliver, context=outside())

    def _arrive(
        self,
        caller: str,
        host: Host,
        serve: Callable[[], Awaitable[T]],
        answer: "asyncio.Future[T]",
    ) -> None:
        process = host.process
        if process is None:
            refused = Unavailable(f"{host.name} is down", 0.1)
            self._send(caller, host.name, lambda: settle(answer, None, refused))
        else:
            process.spawn(self._serve(caller, host.name, serve, answer))

    async def _serve(
        self, caller: str, name: str, serve: Callable[[], Awaitable[T]], answer: "asyncio.Future[T]"
    ) -> None:
        result: Any = None
        problem: Exception | None = None
        try:
            result = await serve()
        except WindlassError as error:
            problem = error
        except Exception as error:
            self._failed(error)
            raise
        self._send(caller, name, lambda: settle(answer, result, problem))


def settle(answer: "asyncio.Future[Any]", result: object, problem: Exception | None) -> None:
    if answer.done():
        return
    if problem is None:
        answer.set_result(result)
    else:
        answer.set_exception(problem)

"""A host of the simulated world: a process that crashes without a word and is started again."""

from collections.abc import Coroutine
from typing import Any

from windlass.testing.simulator.handlers import Handlers
from windlass.testing.simulator.loop import VirtualLoop
from windlass.testing.simulator.network import Network
from windlass.testing.simulator.plan import Plan
from windlass.testing.simulator.process import Process
from windlass.testing.simulator.server import Server


class WorkerHost:
    """One worker's host, life after life; a new life knows nothing of the one before."""

    def __init__(
        self,
        name: str,
        plan: Plan,
        loop: VirtualLoop,
        network: Network,
        servers: list[Server],
        handlers: Handlers,
    ) -> None:
        self.name = name
        self.process: Process | None = None
        self.plan = plan
        self.loop = loop
        self.network = network
        self.servers = servers
        self.handlers = handlers
        self.is_gone = False

    async def live(self) -> None:
        """What the worker does until it ends."""
        raise NotImplementedError

    def start(self) -> None:
        self.process = Process(self.loop, self.name)
        self.process.spawn(self.live())

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        if self.process is not None:
            self.process.spawn(work)

    def crash(self) -> None:
        if self.process is not None:
            self.process.crash()
            self.process = None

    def restart(self) -> None:
        if self.process is None and not self.is_gone:
            self.start()

    def go(self) -> None:
        """Crash, and never come back."""
        self.is_gone = True
        self.crash()

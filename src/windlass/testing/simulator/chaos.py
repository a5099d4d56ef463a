"""Trouble at random: processes crash and pause, links break, until it is time for calm."""

import asyncio
import random
from collections.abc import Sequence
from typing import Protocol

from windlass.testing.simulator.loop import VirtualLoop
from windlass.testing.simulator.network import Network
from windlass.testing.simulator.plan import Plan
from windlass.testing.simulator.process import Process


class Victim(Protocol):
    """A host that can be taken down and brought up."""

    name: str
    process: Process | None

    def crash(self) -> None: ...
    def restart(self) -> None: ...


class Chaos:
    """Who is in trouble, and since when."""

    def __init__(
        self, plan: Plan, loop: VirtualLoop, network: Network, hosts: Sequence[Victim]
    ) -> None:
        self._plan = plan
        self._loop = loop
        self._network = network
        self._hosts = hosts
        self._rng: random.Random = plan.rng("chaos")
        self._paused: list[Process] = []
        self.over = False

    async def run(self) -> None:
        deeds = {"crash": self._crash, "pause": self._pause, "partition": self._cut}
        mine = [deed for name, deed in deeds.items() if self._plan.has(name)]
        while mine and not self.over:
            await asyncio.sleep(self._rng.expovariate(1.0))
            if not self.over:
                self._rng.choice(mine)()

    def _crash(self) -> None:
        host = self._rng.choice(self._hosts)
        host.crash()
        self._loop.call_later(self._rng.choice((0.01, 0.5, 4.0)), host.restart)

    def _pause(self) -> None:
        process = self._rng.choice(self._hosts).process
        if process is not None:
            process.pause()
            self._paused.append(process)
            self._loop.call_later(self._rng.choice((0.1, 1.0, 8.0)), process.resume)

    def _cut(self) -> None:
        names = [host.name for host in self._hosts] + ["people"]
        one, two = self._rng.sample(names, 2)
        self._network.cut(one, two, self._loop.time() + self._rng.uniform(0.5, 6.0))

    def end(self) -> None:
        self.over = True
        for process in self._paused:
            process.resume()
        for host in self._hosts:
            host.restart()

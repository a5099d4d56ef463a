"""What happens between a process and its database: delays, races, breaks before and after."""

import asyncio
from collections.abc import Callable

from windlass.model.errors import Unavailable
from windlass.ports.store import Raced
from windlass.testing.memory import CommitsLater, Refused
from windlass.testing.simulator.loop import VirtualLoop
from windlass.testing.simulator.plan import Plan
from windlass.testing.simulator.process import outside


class Weather:
    """The way to the database of one process; the database itself never crashes half-way."""

    def __init__(self, loop: VirtualLoop, plan: Plan, name: str) -> None:
        self._loop = loop
        self._plan = plan
        self._rng = plan.rng(f"weather:{name}")
        self._storm = self._rng.choice((0.02, 0.1, 0.3))
        self.calm = False

    def _happens(self, fault: str, share: float = 1.0) -> bool:
        if self.calm or not self._plan.has(fault):
            return False
        return self._rng.random() < self._storm * share

    def _way_s(self) -> float:
        # A calm world is near its database too: else some verifier never has time enough.
        return self._rng.uniform(0.0001, 0.002) * (1.0 if self.calm else self._plan.latency)

    async def _travel(self) -> None:
        await asyncio.sleep(self._way_s())

    async def reading(self) -> None:
        await self._travel()
        if self._happens("slow_read", 2.0):
            await asyncio.sleep(self._rng.choice((0.01, 0.1, 1.0)) * self._rng.random())
        if self._happens("unavailable", 0.3):
            raise Unavailable("the database is away", 0.1)

    async def saving(self, commit: Callable[[], None]) -> None:
        if self._happens("slow_commit"):
            await asyncio.sleep(self._rng.uniform(0.05, 3.0))
        await self._travel()
        if self._happens("raced"):
            raise Raced("somebody was faster")
        if self._happens("unavailable"):
            raise Unavailable("the connection broke before the commit", 0.1)
        if self._happens("late_commit"):
            landed: asyncio.Future[None] = self._loop.create_future()
            self._loop.call_later(
                self._rng.uniform(0.001, 1.0), commit_late, commit, landed, context=outside()
            )
            raise CommitsLater("the connection broke while the commit was under way", 0.1, landed)
        await self._commit(commit)
        if self._happens("answer_lost"):
            raise Unavailable("the connection broke before the answer", 0.1)

    async def _commit(self, commit: Callable[[], None]) -> None:
        """Commit in the database's own time: it happens even if the process is gone by then."""
        done: asyncio.Future[None] = self._loop.create_future()

        def work() -> None:
            try:
                commit()
            except (Raced, Refused) as error:
                if not done.done():
                    done.set_exception(error)
            else:
                if not done.done():
                    done.set_result(None)

        self._loop.call_later(self._way_s(), work, context=outside())
        await done
        await self._travel()


def commit_late(commit: Callable[[], None], landed: "asyncio.Future[None]") -> None:
    """Commit what nobody waits for any more, if it still can be."""
    try:
        commit()
    except Raced:
        return
    finally:
        landed.set_result(None)

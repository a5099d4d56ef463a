"""Requests of pull workers that wait for work here, so that another can add to what they ask."""

import asyncio
import contextlib
from collections.abc import Generator, Mapping

from windlass.ports.work import Waiting


class Polls:
    """By worker, the request of its that waits: at most one counts, the newest."""

    def __init__(self) -> None:
        self._waiting: dict[str, tuple[int, Waiting, asyncio.Event]] = {}

    @contextlib.contextmanager
    def waiting(
        self, worker_id: str, number: int, demand: Waiting, over: asyncio.Event
    ) -> Generator[None]:
        """While this lasts, others may join it, or end it."""
        mine = (number, demand, over)
        self._waiting[worker_id] = mine
        try:
            yield
        finally:
            if self._waiting.get(worker_id) is mine:
                del self._waiting[worker_id]

    def join(self, worker_id: str, number: int, slots: int, caps: Mapping[str, int]) -> bool:
        """Add to what a request asks for; false if it does not wait here any more."""
        found = self._waiting.get(worker_id)
        return found is not None and found[0] == number > 0 and found[1].add(slots, caps)

    def end(self, worker_id: str, number: int) -> None:
        """Have a request answered at once, if it waits here."""
        found = self._waiting.get(worker_id)
        if found is not None and found[0] == number > 0:
            found[2].set()

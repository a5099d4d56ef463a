"""Asking: a session states demand for every free slot its worker has."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from windlass.model.assignment import Assignment
from windlass.ports.work import Waiting

if TYPE_CHECKING:
    from windlass.server.link.session import LinkSession


class Asking:
    """The demand of one session; what it is given goes to `begin`."""

    def __init__(self, session: "LinkSession", begin: Callable[[Assignment], None]) -> None:
        self._session = session
        self._begin = begin
        self.waiting: Waiting | None = None
        self._queues: tuple[str, ...] = ()

    def ask(self) -> None:
        """State demand for all free slots, now: what is committed next may already fill them."""
        session = self._session
        profile, handlers = session.profile, session.plane.engine.handlers
        taking = session.connected and profile.healthy and not session.draining
        queues = profile.queues(handlers) if taking else ()
        if self.waiting is not None:
            if queues == self._queues:
                # Withdrawn demand would send back what a commit under way gives it.
                self.waiting.resize(profile.max_parallel - session.busy, self._caps())
                return
            # What was given in this very moment is begun first, and counts below.
            self.withdraw()
        free = profile.max_parallel - session.busy
        if queues and free > 0:
            self._queues = queues
            self.waiting = session.plane.attempts.want(
                session.worker_id,
                queues,
                free,
                load=profile.load(len(session.held)),
                caps=self._caps(),
                tenant=session.tenant,
            )
            session.spawn(self._take(self.waiting))

    def _caps(self) -> dict[str, int]:
        running = (held.node_type for held in self._session.held.values())
        return self._session.profile.caps(self._session.plane.engine.handlers, running)

    def withdraw(self) -> None:
        waiting, self.waiting = self.waiting, None
        if waiting is not None:
            for assignment in waiting.withdraw():
                self._begin(assignment)

    async def _take(self, waiting: Waiting) -> None:
        try:
            assignments = await waiting.assignments()
        except asyncio.CancelledError:
            if waiting is self.waiting:
                raise
            return  # it was withdrawn
        if waiting is not self.waiting:
            return
        self.waiting = None
        for assignment in assignments:
            self._begin(assignment)
        self.ask()

"""Work that a worker goes on with although it counts no longer.

A worker on the link is told no lease, and its handlers notice nothing when it is cut off. One that
stays away for longer than its leases loses its attempts; when it is back, under another session
perhaps, it says what it has in hand, and is told to stop what somebody else has begun since, or
what nobody wants any more. What nobody has taken up yet may go on: its result still counts.
"""

from collections.abc import Collection
from typing import TYPE_CHECKING

from windlass.model.ids import run_of, task_of
from windlass.model.rows import Attempt, Task
from windlass.model.states import ATTEMPT_LIVE, TASK_ENDED
from windlass.protocol.link import messages as m

if TYPE_CHECKING:
    from windlass.server.link.session import LinkSession

_LOOKED_AT_MAX = 200


class Outlived:
    """What one session has told its worker to stop for that reason."""

    def __init__(self, session: "LinkSession") -> None:
        self._session = session
        self._told: set[str] = set()

    def look(self, in_hand: Collection[str]) -> None:
        """The worker says that it has these in hand."""
        self._told.intersection_update(in_hand)
        unknown = [a for a in in_hand if a not in self._session.held and a not in self._told]
        if unknown:
            checked = self._stop(unknown[:_LOOKED_AT_MAX])
            self._session.spawn(self._session.reports.quietly(checked))

    async def _stop(self, attempt_ids: list[str]) -> None:
        async with self._session.plane.engine.store.session() as rows:
            attempts = {row.id: row for row in await rows.rows(Attempt, attempt_ids)}
            tasks = await rows.rows(Task, sorted({task_of(id_) for id_ in attempt_ids}))
        standing = {task.id: task for task in tasks}
        for attempt_id in attempt_ids:
            task = standing.get(task_of(attempt_id))
            if not is_outlived(attempts.get(attempt_id), task):
                continue
            stop = m.Cancel(run_id=run_of(attempt_id), task_id=attempt_id, reason="stopped")
            if self._session.send(stop):
                self._told.add(attempt_id)


def is_outlived(attempt: Attempt | None, task: Task | None) -> bool:
    """Whether nothing could come of an attempt any more."""
    if attempt is None or task is None:
        return True
    if attempt.state in ATTEMPT_LIVE:
        return False
    return task.state in TASK_ENDED or task.attempts != attempt.number

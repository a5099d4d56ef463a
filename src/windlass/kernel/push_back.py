"""Services that are busy and say when to come back: that says nothing against the work."""

from windlass.kernel.requeue import requeue
from windlass.kernel.turn import Turn
from windlass.model.limits import PAUSE_MS_MAX
from windlass.model.rows import Attempt, Failure, Task


def is_push_back(turn: Turn, task: Task, failure: Failure | None) -> bool:
    """Whether whoever had an attempt was only busy. One that asks for more than it may, or does so
    for ever, has failed like any other."""
    pause = failure.retry_after_ms if failure is not None and failure.kind == "failed" else None
    if pause is None or not 0 < pause <= PAUSE_MS_MAX:
        return False
    return task.attempts - task.failures - task.moves <= turn.limits.push_backs_max


def push_back(turn: Turn, task: Task, attempt: Attempt, failure: Failure) -> None:
    """Spend no retry; and whoever else calls the service stays away as long."""
    requeue(turn, task, stay_away(turn, attempt, failure), {"error": failure.json()})


def stay_away(turn: Turn, attempt: Attempt, failure: Failure) -> int:
    """Leave a service alone for as long as it asks for, which is returned."""
    pause = failure.retry_after_ms or 0
    turn.pushed_back.append((attempt, pause))
    return pause

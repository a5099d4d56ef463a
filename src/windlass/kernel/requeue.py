"""Back into a queue: a task is done, or judged, once more, now or after a pause."""

from typing import Any

from windlass.kernel.turn import Turn
from windlass.model.rows import Task
from windlass.model.states import TaskState

_UNREACHABLE_PAUSE_MS_MAX = 16_000


def requeue(turn: Turn, task: Task, pause: int, columns: dict[str, Any]) -> None:
    """Put a task back in its queue, now or after a pause."""
    if pause > 0:
        due_at = turn.now + pause
        turn.move(task, TaskState.WAITING, due_at=due_at, **columns)
        turn.set_timer(task.id, "retry", due_at)
    else:
        turn.move(task, TaskState.QUEUED, ready_at=turn.now, **columns)


def unreachable_pause_ms(moves: int) -> int:
    """The next worker is tried at once, the one after it in a second, and so on, ever later: who
    turns work away does so quickly."""
    return 0 if moves < 2 else min(1_000 * 2 ** (moves - 2), _UNREACHABLE_PAUSE_MS_MAX)

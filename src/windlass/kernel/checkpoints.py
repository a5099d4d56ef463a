"""Which checkpoint is whose: their ids follow from tasks and attempts."""

from windlass.kernel.turn import Turn
from windlass.model.rows import Checkpoint, Task


def open_checkpoint_id(task: Task) -> str:
    """A task's checkpoint; one more each time the task is reopened, or an attempt of it asks."""
    return asked_id(task.id, task.attempts) if task.attempts else f"{task.id}!{task.generation}"


def asked_id(task_id: str, number: int) -> str:
    """The checkpoint of a question that the attempt with this number came to."""
    return f"{task_id}!ask{number}"


def checkpoint_of(turn: Turn, task: Task) -> Checkpoint | None:
    return turn.get(Checkpoint, open_checkpoint_id(task))

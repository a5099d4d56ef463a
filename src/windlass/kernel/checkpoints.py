"""Which checkpoint is whose: their ids follow from tasks and attempts."""

from windlass.kernel.turn import Turn
from windlass.model.graph import Kind
from windlass.model.questions import read_question
from windlass.model.rows import Checkpoint, Task

HELD = "!barrier"
"""What a task is parked for that would be in its queue, while a question holds back its run."""
HELD_CLAIM = "!barrier:claim"
"""The same for one that would be waiting for a verdict."""


def is_held_back(task: Task) -> bool:
    return task.parked in (HELD, HELD_CLAIM)


def open_checkpoint_id(task: Task) -> str:
    """The checkpoint a task waits for; an approval has one more each time it is reopened."""
    if task.kind == Kind.CALL and task.wait_key is not None:
        return task.wait_key
    return f"{task.id}!{task.generation}"


def asked_id(task_id: str, number: int) -> str:
    """The checkpoint of a question that the attempt with this number came to."""
    return f"{task_id}!ask{number}"


def from_outside_id(task_id: str, name: str) -> str:
    """The checkpoint of a question that somebody else asked about a task, under a new name."""
    return f"{task_id}!{name}"


def checkpoint_of(turn: Turn, task: Task) -> Checkpoint | None:
    return turn.get(Checkpoint, open_checkpoint_id(task))


def count_barrier(turn: Turn, checkpoint: Checkpoint, delta: int) -> None:
    """A question is opened or closed: where it blocks the run, that is a barrier more or less."""
    if checkpoint.details is not None and read_question(checkpoint.details).blocks_run:
        turn.count_run(barriers=delta)

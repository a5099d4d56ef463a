"""Faults of barriers and of what people ask of plans that go on."""

from tests.faults.planted import Patch, fault
from windlass.kernel import barriers, checkpoints, scopes, steering
from windlass.kernel.turn import Turn
from windlass.model.rows import Checkpoint, Task
from windlass.model.states import TaskState


@fault(
    "attempts that run when a barrier goes up go on behind it",
    first=1120,
    needs=["planned", "steer"],
)
def barrier_leaks(patch: Patch) -> None:
    patch.setattr(barriers, "give_back_all", lambda turn: None)


@fault("what comes up behind a barrier is handed out", first=1850, needs=["planned", "steer"])
def barrier_looked_at_once(patch: Patch) -> None:
    patch.setattr(Turn, "touched_tasks", lambda self: [])


@fault(
    "a question that nobody can answer any more holds back its run for ever",
    first=235,
    needs=["planned", "steer"],
)
def barrier_outlives_its_question(patch: Patch) -> None:
    def count(turn: Turn, checkpoint: Checkpoint, delta: int) -> None:
        del turn, checkpoint, delta

    patch.setattr(scopes, "count_barrier", count)


@fault(
    "what depends on a task that somebody did without waits for it",
    first=620,
    needs=["planned", "steer"],
)
def nobody_told_of_a_cancelled_task(patch: Patch) -> None:
    patch.setattr(steering, "leave", lambda turn, task, fired: None)


@fault("a claim is forgotten over a question, and the work done again", needs=["planned", "steer"])
def claim_forgotten(patch: Patch) -> None:
    def hold(turn: Turn, task: Task) -> None:
        turn.move(task, TaskState.WAITING, parked=checkpoints.HELD_CLAIM)

    patch.setattr(barriers, "hold", hold)

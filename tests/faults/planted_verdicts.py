"""Faults of verification: what counts although nobody accepted it, and verdicts that get lost."""

from typing import Any

from tests.faults.planted import Patch, fault
from windlass.kernel import reports, routing, verifying
from windlass.kernel.blackboard import say_result
from windlass.kernel.turn import Turn
from windlass.model.ids import task_of
from windlass.model.rows import Attempt, Task
from windlass.model.states import TaskState


@fault("a claim counts as a result although nobody has judged it")
def claim_counts_unjudged(patch: Patch) -> None:
    def submit(turn: Turn, task: Task, verification: Any, attempt: Attempt) -> None:
        claimed = turn.move(task, task.state, claim=attempt.number)
        output = turn.get(Attempt, attempt.id)
        routing.succeed(turn, claimed, (output.output if output else None) or "null", "")

    patch.setattr(verifying, "submit", submit)


@fault("a result that is rejected counts")
def rejection_overheard(patch: Patch) -> None:
    patch.setattr(verifying, "reject", lambda turn, task, *rest: verifying.accept(turn, task))


@fault("a result that nobody has judged stands on the blackboard")
def unjudged_on_the_blackboard(patch: Patch) -> None:
    right = verifying.submit

    def submit(turn: Turn, task: Task, *rest: object) -> None:
        right(turn, task, *rest)  # type: ignore[arg-type]
        if turn.node(task).planned is not None:
            say_result(turn, turn.task(task.id))

    patch.setattr(verifying, "submit", submit)


@fault("a verdict that is lost is never asked for again")
def lost_verdict_forgotten(patch: Patch) -> None:
    patch.setattr(verifying, "wait_for_verdict", lambda turn, task: None)


@fault(
    "what a verifier that lost its lease says counts beside the verdict of the next",
    first=1_000,
)
def verdict_not_fenced(patch: Patch) -> None:
    right = reports.live

    def live(turn: Turn, attempt_id: str) -> tuple[Task, Attempt]:
        attempt = turn.get(Attempt, attempt_id)
        if attempt is not None and attempt.role == "verify":
            task = turn.task(task_of(attempt_id))
            if task.state is TaskState.VERIFYING:
                return task, attempt
        return right(turn, attempt_id)

    patch.setattr(reports, "live", live)

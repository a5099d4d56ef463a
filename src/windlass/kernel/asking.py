"""Asking a person about a task that is under way, rather than at a node of its own.

The task waits, holding nothing, until somebody answers. Its checkpoint is named after the attempt
that came to the question, so each may ask once, and the answers are found again.
"""

from msgspec.structs import replace

from windlass.kernel.turn import Turn, asked_id
from windlass.model.questions import Option, Question
from windlass.model.rows import Checkpoint, Json, Task
from windlass.model.states import CheckpointState, TaskState
from windlass.model.verdicts import Verdict

VERDICT = "verdict"
"""A question about a claim: accept it, have the work done again, or let the task fail."""
_OPTIONS = (
    Option("accept", "Accept the result"),
    Option("retry", "Have it done again"),
    Option("fail", "Let the task fail"),
)
CHOICES = tuple(option.id for option in _OPTIONS)


def about_claim(turn: Turn, task: Task, verdict: Verdict, claim: Json | None, queue: str) -> None:
    """Leave a verdict to a person, with the claim before them."""
    given = (verdict.checkpoint or {}).get("question")
    told = f": {verdict.summary}" if verdict.summary else ""
    prompt = given if isinstance(given, str) and given else f"Accept this result?{told}"
    asked = Checkpoint(
        id=asked_id(task.id, task.attempts),
        run_id=task.run_id,
        task_id=task.id,
        flow_name=turn.run.flow_name,
        node=task.node,
        kind=VERDICT,
        prompt=prompt,
        show=claim,
        created_at=turn.now,
        tenant=turn.run.tenant,
        details=Question(_OPTIONS, reason_code=verdict.failure_class).json(),
    )
    turn.make(asked)
    turn.note(checkpoint=asked.id, state=str(asked.state))
    turn.move(task, TaskState.WAITING, wait_key=asked.id, queue=queue, due_at=None)


def close_question(
    turn: Turn, task: Task, checkpoint: Checkpoint, answer: Json, by: str, note: str
) -> Task:
    """Keep what a person answered; the task waits for nothing any more."""
    closed = replace(
        checkpoint,
        state=CheckpointState.RESOLVED,
        answered_at=turn.now,
        answer=answer,
        answered_by=by,
        note=note,
    )
    turn.change(closed)
    turn.note(checkpoint=closed.id, state=str(closed.state))
    return turn.move(task, task.state, wait_key=None)

"""Dead letters: what is given up for good, kept for somebody to look at.

A task is given up when it has failed for the last time, whether its run failed with it or went on;
an effect when it could not be done however often it was tried. A letter is written in the commit
that gives something up and removed in the commit that takes it up again, so there is one exactly
while something is dead, unless somebody has dropped it.
"""

from windlass.model.effects import Effect
from windlass.model.graph import Kind
from windlass.model.rows import Failure, Row, Run, Task, read_failure

TASK = "task"
EFFECT = "effect"
KINDS = (TASK, EFFECT)
_MESSAGE_CHARS_MAX = 1_000


class DeadLetter(Row, frozen=True, kw_only=True):
    TABLE = "dead_letters"
    UPSERT = True
    FIXED = frozenset({"tenant", "kind", "run_id", "flow_name", "name"})
    id: str
    """That of the task or the effect."""
    tenant: str
    kind: str
    run_id: str = ""
    flow_name: str = ""
    name: str
    """A task's node; what an effect is to do."""
    failure_class: str
    """What the failure is called: the code its worker gave it, else its kind."""
    message: str = ""
    tries: int = 0
    died_at: int


def is_given_up(task: Task) -> bool:
    """Whether a task that failed did so by itself: a container's failure is that of what failed
    inside it, which has a letter of its own."""
    if task.kind == Kind.PLAN:
        failure = read_failure(task.error)
        return failure is not None and failure.node == task.node  # nobody could plan it
    return task.kind == Kind.CALL


def letter_of_task(run: Run, task: Task, at: int) -> DeadLetter:
    failure = read_failure(task.error) or Failure("failed", "")
    return DeadLetter(
        id=task.id,
        tenant=run.tenant,
        kind=TASK,
        run_id=run.id,
        flow_name=run.flow_name,
        name=task.node,
        failure_class=failure.code or failure.kind,
        message=failure.message[:_MESSAGE_CHARS_MAX],
        tries=task.attempts,
        died_at=at,
    )


def letter_of_effect(effect: Effect, tenant: str, flow_name: str, at: int) -> DeadLetter:
    return DeadLetter(
        id=effect.id,
        tenant=tenant,
        kind=EFFECT,
        run_id=effect.run_id,
        flow_name=flow_name,
        name=effect.kind,
        failure_class=effect.error.partition(":")[0] or "failed",
        message=effect.error[:_MESSAGE_CHARS_MAX],
        tries=effect.tries,
        died_at=at,
    )

"""Late outcomes: of an attempt whose lease ran out, and whose task nobody has claimed since.

Some workers never renew a lease. Whatever takes them longer than one would be done again and again
if its outcome were refused while the task only waits in its queue. The number still decides: the
outcome counts while the attempt's is the newest. An attempt never leaves its end, so the task is
claimed once more in the worker's name, in the commit that takes the outcome.
"""

from msgspec.structs import replace

from windlass.kernel.budgets import is_asking
from windlass.kernel.claims import claim_task
from windlass.kernel.events import Claim
from windlass.kernel.nodes import call
from windlass.kernel.scopes import drop_holds
from windlass.kernel.turn import Turn
from windlass.model.ids import attempt_id
from windlass.model.rows import Attempt, Json, Task
from windlass.model.states import AttemptState, Role, TaskState


def claim_again(
    turn: Turn, attempt: Attempt, output: Json | None = None
) -> tuple[Task, Attempt] | None:
    """The task and its new attempt, if the outcome of a lost one may still count; else None.

    What it said is kept with the lost attempt, so that saying it twice is known for what it is.
    """
    if attempt.state is not AttemptState.LOST or turn.cancelling:
        return None
    task = turn.task(attempt.task_id)
    # A task that was reopened since starts afresh, and avoids nobody.
    if task.attempts != attempt.number or task.avoid != attempt.worker_id:
        return None
    if is_asking(task):
        # The question is about more than this task; somebody else asks it.
        drop_holds(turn, task)
        turn.move(turn.task(task.id), TaskState.QUEUED, wait_key=None)
        task = turn.task(task.id)
    if task.wait_key is not None:
        return None  # A person is asked about it now, and it waits for what they say.
    if task.state is TaskState.WAITING:
        turn.drop_timer(task.id, "retry")
        call.retry_due(turn, task)
        task = turn.task(task.id)
    judging = attempt.role is Role.VERIFY
    if not task.claimable or judging is not (task.state is TaskState.VERIFYING):
        return None
    if output is not None:
        turn.change(replace(attempt, output=output))
    by = Claim(task.id, attempt.worker_id, attempt.worker_url, attempt.holder, lease_ms=0)
    claim_task(turn, task, by)
    fresh = turn.get(Attempt, attempt_id(task.id, attempt.number + 1))
    assert fresh is not None
    return turn.task(task.id), fresh

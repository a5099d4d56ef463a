"""Tasks that count no longer, and how they come to count again.

Where nodes wait for all their edges a task's id follows from its place. So a node that is visited
again after a redo finds its task of the first time, superseded, and takes it up again under a new
generation; its attempts stay, and their numbers go on. Meanwhile the task counts for nothing: not
in its scope's counters, and as nobody's predecessor.
"""

from windlass.kernel.envs import leave
from windlass.kernel.scopes import drop_holds
from windlass.kernel.turn import Turn
from windlass.model.rows import Task
from windlass.model.states import TASK_ENDED, TaskState


def mark_superseded(turn: Turn, task: Task) -> None:
    """Let a task count no longer; the edges it waits for are counted later, see `recount`."""
    ended = task.state in TASK_ENDED
    if not ended:
        drop_holds(turn, task)
        task = turn.task(task.id)
    task = turn.move(
        task,
        TaskState.SUPERSEDED,
        generation=task.generation + int(ended),
        made=0,
        released=0,
        open=0,
        failed=0,
    )
    leave(turn, task)
    if task.idx < 0 and _stands(turn, task.scope):
        turn.count_scope(task.scope, made=-1, open=-int(not ended))


def _stands(turn: Turn, scope: str) -> bool:
    return scope == turn.run_id or turn.task(scope).state is not TaskState.SUPERSEDED


def take_up_again(turn: Turn, task: Task) -> Task:
    """Let a superseded task count again: pending, with nothing of what it was but its record."""
    task = renew(turn, task, TaskState.PENDING)
    turn.count_scope(task.scope, made=1, open=1)
    return task


def renew(turn: Turn, task: Task, state: TaskState, **columns: str | int | None) -> Task:
    """Put a superseded task into a state as if it had just been made; counters are the caller's.

    Its input stands until it begins, and is read anew then.
    """
    fresh = {"queue": None, "ready_at": None, **columns}
    return turn.move(
        task,
        state,
        generation=task.generation + 1,
        failures=0,
        moves=0,
        avoid=None,
        wait_key=None,
        due_at=None,
        total=0,
        claim=0,
        output=None,
        error=None,
        action="",
        ended_seq=0,
        started_at=None,
        finished_at=None,
        **fresh,
    )

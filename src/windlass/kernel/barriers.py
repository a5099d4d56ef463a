"""Run barriers: while a question that blocks its run is open, nothing of the run is handed out.

Attempts under way are given back as if nobody had begun them, and what waits in a queue leaves it;
so does whatever comes up meanwhile. With the answer to the last such question, or once nobody can
answer it any more, all of it goes back to where it was.
"""

from windlass.kernel.checkpoints import HELD, HELD_CLAIM, is_held_back
from windlass.kernel.leases import is_held
from windlass.kernel.outcomes import give_back
from windlass.kernel.turn import Turn
from windlass.kernel.verifying import home_queue, wait_for_verdict
from windlass.model.rows import Task
from windlass.model.states import RUN_ENDED, TaskState


def keep(turn: Turn) -> None:
    """Let what this turn leaves behind agree with the run's barriers."""
    if turn.column("barriers"):
        raised = not turn.barriers_before
        if raised:
            give_back_all(turn)
        for task in turn.open_tasks(turn.run_id) if raised else turn.touched_tasks():
            if task.claimable:
                hold(turn, task)
    elif turn.barriers_before and not turn.cancelling and turn.run.state not in RUN_ENDED:
        for task in turn.open_tasks(turn.run_id):
            if is_held_back(task):
                release(turn, task)


def give_back_all(turn: Turn) -> None:
    for task in turn.open_tasks(turn.run_id):
        if is_held(task):
            give_back(turn, task, "a question holds back the whole run")


def hold(turn: Turn, task: Task) -> None:
    """Take a task out of the queue it waits in; its age, and so its place there, is kept."""
    if task.state is TaskState.VERIFYING:
        queue = home_queue(turn, turn.node(task))
        turn.move(task, TaskState.WAITING, parked=HELD_CLAIM, queue=queue)
    else:
        turn.move(task, TaskState.WAITING, parked=HELD)


def release(turn: Turn, task: Task) -> None:
    if task.parked == HELD_CLAIM:
        wait_for_verdict(turn, task)
    else:
        turn.move(task, TaskState.QUEUED)

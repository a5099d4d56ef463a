"""Claiming: what the newest attempt of a task is for follows from the task."""

from windlass.kernel import verifying
from windlass.kernel.events import Claim
from windlass.kernel.nodes import call, plan
from windlass.kernel.turn import Turn
from windlass.model.assignment import Assignment
from windlass.model.graph import Kind
from windlass.model.rows import Task
from windlass.model.states import TaskState


def claim_task(turn: Turn, task: Task, by: Claim) -> Assignment:
    """Lease a task that can be claimed: to be judged, planned, or done."""
    if task.state is TaskState.VERIFYING:
        return verifying.claim(turn, task, by)
    if task.kind == Kind.PLAN:
        return plan.claim(turn, task, by)
    return call.claim(turn, task, by)

"""Leases: an attempt is made for whoever claims a task, whatever the attempt is for."""

from typing import Any

from msgspec.structs import replace

from windlass.kernel.events import Claim
from windlass.kernel.turn import Turn
from windlass.kernel.values import encode
from windlass.model.assignment import Assignment
from windlass.model.graph import Kind, Target
from windlass.model.ids import attempt_id
from windlass.model.manifests import manifest_of
from windlass.model.rows import Attempt, Failure, Json, Task
from windlass.model.states import AttemptState, Role, TaskState

NO_OUTCOME = frozenset({"lost", "returned", "unreachable", "cancelled"})
"""Failures that say that nothing was done, and so nothing about whoever was to do it."""
WANTED_AFTER = "replan_again"
"""The key, in a plan's own scope, of why it is planned anew once its planner has ended."""
_ENDS = {
    "lost": AttemptState.LOST,
    "timeout": AttemptState.TIMED_OUT,
    "cancelled": AttemptState.CANCELLED,
    "returned": AttemptState.CANCELLED,
}


def end_of(failure: Failure) -> AttemptState:
    """How an attempt without a result has ended."""
    return _ENDS.get(failure.kind, AttemptState.FAILED)


def lease(turn: Turn, task: Task, by: Claim, role: Role = Role.WORK) -> Attempt:
    """A new attempt under a new epoch; what becomes of the task is the caller's."""
    assert task.queue is not None
    number = task.attempts + 1
    attempt = Attempt(
        id=attempt_id(task.id, number),
        task_id=task.id,
        run_id=task.run_id,
        number=number,
        state=AttemptState.CLAIMED,
        queue=task.queue,
        worker_id=by.worker_id,
        worker_url=by.worker_url,
        holder=by.holder,
        lease_until=turn.now + by.lease_ms,
        claimed_at=turn.now,
        role=role,
        limits=by.limits,
    )
    turn.make(attempt)
    if role is Role.WORK:
        turn.note(attempt=attempt.id, state="claimed", worker=by.worker_id)
    else:
        turn.note(attempt=attempt.id, state="claimed", worker=by.worker_id, role=str(role))
    return attempt


def give(turn: Turn, attempt: Attempt, brief: dict[str, Any]) -> Json:
    """A brief as its attempt gets it; what it gives is kept with the attempt."""
    turn.change(replace(attempt, manifest=manifest_of(brief).json()))
    return encode(brief)


def with_brief(
    turn: Turn,
    task: Task,
    attempt: Attempt,
    target: Target,
    brief: dict[str, Any],
    timeout_ms: int = 0,
) -> Assignment:
    """What whoever plans or judges gets: all they need to know is in the brief."""
    return Assignment(
        attempt_id=attempt.id,
        run_id=task.run_id,
        task_id=task.id,
        node=task.node,
        number=attempt.number,
        queue=attempt.queue,
        input=give(turn, attempt, brief),
        params="{}",
        lease_until=attempt.lease_until,
        claimed_at=attempt.claimed_at,
        timeout_ms=timeout_ms,
        seq=turn.seq,
        target=target,
        worker_id=attempt.worker_id,
        worker_url=attempt.worker_url,
        role=attempt.role,
    )


def is_planning(task: Task) -> bool:
    """Whether a plan's task waits for its planner, or for what the planner says."""
    return task.kind == Kind.PLAN and task.queue is not None


def is_held(task: Task) -> bool:
    """Whether somebody has an attempt of a task in hand: its newest one."""
    if task.kind == Kind.CALL:
        if task.state is TaskState.VERIFYING:
            return task.queue is None and task.due_at is None
        return task.state is TaskState.RUNNING
    return task.kind == Kind.PLAN and task.state is TaskState.RUNNING and task.queue is not None

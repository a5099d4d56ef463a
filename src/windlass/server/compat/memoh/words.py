"""Our states in this surface's words."""

from windlass.kernel.checkpoints import is_held_back
from windlass.kernel.leases import is_planning
from windlass.model.rows import Run, Task
from windlass.model.states import AttemptState, CheckpointState, RunState, TaskState

ATTEMPT = {
    AttemptState.CLAIMED: "claimed",
    AttemptState.RUNNING: "running",
    AttemptState.SUCCEEDED: "completed",
    AttemptState.FAILED: "failed",
    AttemptState.TIMED_OUT: "failed",
    AttemptState.LOST: "lost",
    AttemptState.CANCELLED: "lost",
}
CHECKPOINT = {
    CheckpointState.OPEN: "open",
    CheckpointState.RESOLVED: "resolved",
    CheckpointState.EXPIRED: "timed_out",
    CheckpointState.CANCELLED: "cancelled",
}
_TASK = {
    TaskState.PENDING: "created",
    TaskState.QUEUED: "ready",
    TaskState.RUNNING: "running",
    TaskState.VERIFYING: "verifying",
    TaskState.SUCCEEDED: "completed",
    TaskState.FAILED: "failed",
    TaskState.SKIPPED: "cancelled",
    TaskState.CANCELLED: "cancelled",
}
TASK_STATUSES = frozenset({*_TASK.values(), "waiting_human"})
_RUN = {
    RunState.CANCELLING: "cancelling",
    RunState.SUCCEEDED: "completed",
    RunState.FAILED: "failed",
    RunState.CANCELLED: "cancelled",
}
RUN_STATES: dict[str, tuple[str, ...]] = {
    "created": ("queued", "running", "waiting"),
    "running": ("running", "waiting"),
    "waiting_human": ("waiting", "running"),
    "cancelling": ("cancelling",),
    "completed": ("succeeded",),
    "failed": ("failed",),
    "cancelled": ("cancelled",),
}
"""The states among which runs of a status are."""
_EVENTS = {
    "run.started": "created",
    "run.cancel_requested": "cancelling",
    "attempt.succeeded": "attempt.completed",
    "attempt.started": "attempt.running",
    "checkpoint.answered": "hitl.resolved",
    "checkpoint.asked": "hitl.requested",
    "hint.given": "hint.injected",
    "plan.accepted": "planner_epoch.advanced",
    "verdict.failed": "verification.requeued",
}


def run_status(run: Run) -> str:
    if run.state in _RUN:
        return _RUN[run.state]
    if run.barriers:
        return "waiting_human"
    return "running" if run.graph_rev else "created"


def intent_status(plan: Task | None) -> str:
    """Whether somebody is planning, or is asked to."""
    return "active" if plan is not None and is_planning(plan) else "idle"


def task_status(task: Task | None) -> str:
    if task is None:
        return "created"
    if task.state is TaskState.WAITING:
        # What only waits for its next try, or for a limit, is ready all the same.
        return "waiting_human" if task.wait_key or is_held_back(task) else "ready"
    return _TASK.get(task.state, "cancelled")


def waiting_scope(task: Task | None) -> str:
    if task is None or task.state is not TaskState.WAITING:
        return ""
    return "run" if is_held_back(task) else "task" if task.wait_key else ""


def event_type(type_: str) -> str:
    return f"run.event.{_EVENTS.get(type_, type_)}"

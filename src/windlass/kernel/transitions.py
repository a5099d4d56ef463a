"""The state machines as tables: what may follow what. Everything else raises.

An ended run or task is left only by reopening it (`REOPEN_*`), which also raises its generation;
the database holds the same rule. The diagrams in the docs are drawn from these tables.
"""

from collections.abc import Mapping

from windlass.model.states import AttemptState, RunState, TaskState

R, T, A = RunState, TaskState, AttemptState

RUN: Mapping[RunState, frozenset[RunState]] = {
    R.QUEUED: frozenset({R.RUNNING, R.WAITING, R.CANCELLING, R.SUCCEEDED, R.FAILED, R.CANCELLED}),
    R.RUNNING: frozenset({R.WAITING, R.CANCELLING, R.SUCCEEDED, R.FAILED, R.CANCELLED}),
    R.WAITING: frozenset({R.RUNNING, R.CANCELLING, R.SUCCEEDED, R.FAILED, R.CANCELLED}),
    R.CANCELLING: frozenset({R.CANCELLED}),
    R.SUCCEEDED: frozenset(),
    R.FAILED: frozenset(),
    R.CANCELLED: frozenset(),
}
REOPEN_RUN: Mapping[RunState, frozenset[RunState]] = {
    R.SUCCEEDED: frozenset({R.RUNNING}),
    R.FAILED: frozenset({R.RUNNING}),
    R.CANCELLED: frozenset({R.RUNNING}),
}

_TASK_ENDS = frozenset({T.SUCCEEDED, T.FAILED, T.CANCELLED, T.SUPERSEDED})
TASK: Mapping[TaskState, frozenset[TaskState]] = {
    T.PENDING: _TASK_ENDS | {T.QUEUED, T.RUNNING, T.WAITING, T.SKIPPED},
    T.QUEUED: _TASK_ENDS | {T.RUNNING, T.WAITING},
    T.RUNNING: _TASK_ENDS | {T.QUEUED, T.VERIFYING, T.WAITING, T.SKIPPED},
    T.VERIFYING: _TASK_ENDS | {T.QUEUED, T.WAITING},
    T.WAITING: _TASK_ENDS | {T.QUEUED, T.RUNNING, T.VERIFYING},
    T.SUCCEEDED: frozenset(),
    T.FAILED: frozenset(),
    T.SKIPPED: frozenset(),
    T.CANCELLED: frozenset(),
    T.SUPERSEDED: frozenset(),
}
_REOPENED = frozenset({T.QUEUED, T.RUNNING, T.WAITING, T.SUPERSEDED})
REOPEN_TASK: Mapping[TaskState, frozenset[TaskState]] = {
    T.SUCCEEDED: _REOPENED,
    T.FAILED: _REOPENED,
    T.SKIPPED: _REOPENED,
    T.CANCELLED: _REOPENED | {T.PENDING},
    T.SUPERSEDED: frozenset({T.PENDING, T.QUEUED}),
}

_ATTEMPT_ENDS = frozenset({A.SUCCEEDED, A.FAILED, A.TIMED_OUT, A.LOST, A.CANCELLED})
ATTEMPT: Mapping[AttemptState, frozenset[AttemptState]] = {
    A.CLAIMED: _ATTEMPT_ENDS | {A.RUNNING},
    A.RUNNING: _ATTEMPT_ENDS,
    A.SUCCEEDED: frozenset(),
    A.FAILED: frozenset(),
    A.TIMED_OUT: frozenset(),
    A.LOST: frozenset(),
    A.CANCELLED: frozenset(),
}


class ImpossibleTransition(AssertionError):
    """A decision that the tables do not allow: our own mistake, never the caller's."""


def check_run(old: RunState, new: RunState, reopened: bool) -> None:
    table = REOPEN_RUN if reopened else RUN
    if old is not new and new not in table.get(old, ()):
        raise ImpossibleTransition(f"run: {old} -> {new}")


def check_task(old: TaskState, new: TaskState, reopened: bool) -> None:
    table = REOPEN_TASK if reopened else TASK
    if old is not new and new not in table.get(old, ()):
        raise ImpossibleTransition(f"task: {old} -> {new}")


def check_attempt(old: AttemptState, new: AttemptState) -> None:
    if old is not new and new not in ATTEMPT[old]:
        raise ImpossibleTransition(f"attempt: {old} -> {new}")

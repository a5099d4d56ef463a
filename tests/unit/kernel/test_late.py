"""An outcome that comes after its lease ran out counts while nobody else has the task."""

from typing import Any

import pytest

from windlass.dialects.flow import compile_flow
from windlass.kernel.events import (
    AttemptFailed,
    AttemptStarted,
    AttemptSucceeded,
    CancelRequested,
    LeaseExpired,
    RetryRequested,
)
from windlass.model.errors import StaleLease
from windlass.model.rows import Attempt, Failure, Task
from windlass.model.states import AttemptState, RunState, TaskState
from windlass.testing.played import RUN_ID, Played

LEASE_MS = 30_000


def lost(**node: Any) -> tuple[Played, str]:
    """A run whose only task was claimed by a worker that never renewed its lease."""
    body = {"exec_type": "queue", "service": "s", "post": {"output_key": "out"}, **node}
    run = Played(compile_flow({"start": "a", "nodes": {"a": body}}))
    (task,) = run.queued()
    held = run.claim(task.id, "slow")
    run.now += LEASE_MS + 1
    run.send(LeaseExpired(held.attempt_id, held.lease_until))
    return run, held.attempt_id


def states(run: Played) -> list[tuple[str, AttemptState]]:
    rows = [row for row in run.tables[Attempt].values() if isinstance(row, Attempt)]
    return [(row.worker_id, row.state) for row in sorted(rows, key=lambda row: row.number)]


def only_task(run: Played) -> Task:
    (task,) = run.all_tasks(RUN_ID)
    return task


@pytest.mark.parametrize("delay", [0, 5_000])
def test_a_result_nobody_waited_for_any_more_is_taken_from_the_queue(delay: int) -> None:
    run, attempt = lost(attempt_delay_ms=delay)
    assert only_task(run).state is (TaskState.WAITING if delay else TaskState.QUEUED)
    assert run.send(AttemptSucceeded(attempt, "7")) == "accepted"
    assert run.state() is RunState.SUCCEEDED
    assert only_task(run).output == "7"
    assert states(run) == [("slow", AttemptState.LOST), ("slow", AttemptState.SUCCEEDED)]
    assert run.send(AttemptSucceeded(attempt, "7")) == "duplicate"


def test_a_failure_counts_as_one_too() -> None:
    run, attempt = lost()
    run.send(AttemptFailed(attempt, Failure("failed", "boom")))
    assert only_task(run).state is TaskState.FAILED
    assert states(run) == [("slow", AttemptState.LOST), ("slow", AttemptState.FAILED)]


def test_once_another_has_claimed_it_the_outcome_is_stale() -> None:
    run, attempt = lost()
    run.claim(only_task(run).id, "other")
    with pytest.raises(StaleLease):
        run.send(AttemptSucceeded(attempt, "7"))
    assert states(run) == [("slow", AttemptState.LOST), ("other", AttemptState.CLAIMED)]


def test_only_the_newest_of_several_lost_attempts_counts() -> None:
    run, first = lost()
    second = run.claim(only_task(run).id, "slow")
    run.now += LEASE_MS + 1
    run.send(LeaseExpired(second.attempt_id, second.lease_until))
    with pytest.raises(StaleLease):
        run.send(AttemptSucceeded(first, "1"))
    run.send(AttemptSucceeded(second.attempt_id, "2"))
    assert only_task(run).output == "2"


def test_giving_back_or_beginning_what_is_lost_changes_nothing() -> None:
    run, attempt = lost()
    for event in (AttemptFailed(attempt, Failure("returned", "")), AttemptStarted(attempt)):
        with pytest.raises(StaleLease):
            run.send(event)
    assert only_task(run).state is TaskState.QUEUED


def test_a_cancelled_run_takes_no_late_result() -> None:
    run, attempt = lost()
    run.send(CancelRequested(RUN_ID, ""))
    with pytest.raises(StaleLease):
        run.send(AttemptSucceeded(attempt, "7"))
    assert run.state() is RunState.CANCELLED


def test_what_was_done_again_by_request_takes_no_result_from_before() -> None:
    run, attempt = lost()
    run.send(CancelRequested(RUN_ID, ""))
    run.send(RetryRequested(RUN_ID, only_task(run).id, False))
    assert only_task(run).state is TaskState.QUEUED
    with pytest.raises(StaleLease):
        run.send(AttemptSucceeded(attempt, "7"))

"""What a single commit may do to a row, whatever the rest looks like."""

from typing import cast

from windlass.model.rows import Attempt, Event, Run, Task
from windlass.model.states import ATTEMPT_LIVE, RUN_ENDED, TASK_ENDED, AttemptState, TaskState
from windlass.testing.memory import Change, Commit
from windlass.testing.simulator.checks.rows import expect


def check_changes(commit: Commit, retried: set[str]) -> None:
    """Ends are final, epochs only grow, history stays. `retried` holds runs asked to redo."""
    was: dict[str, Task] = {
        change.key: cast(Task, change.old)
        for change in commit.changes
        if change.table is Task and change.old is not None
    }
    for change in commit.changes:
        if change.old is None:
            continue
        if change.table is Run:
            check_run(change, retried)
        elif change.table is Task:
            check_task(change, retried)
        elif change.table is Attempt:
            check_attempt(change, was)
        elif change.table is Event:
            expect(False, f"event {change.key} was changed")


def check_run(change: Change, retried: set[str]) -> None:
    old, new = cast(Run, change.old), cast("Run | None", change.new)
    expect(new is not None, f"run {old.id} was lost")
    assert new is not None
    expect(new.seq > old.seq, f"run {old.id} went from seq {old.seq} to {new.seq}")
    if old.state in RUN_ENDED:
        reopened = new.generation > old.generation and old.id in retried
        expect(
            reopened or new.state is old.state,
            f"run {old.id} left {old.state} for {new.state} without a reopening",
        )


def check_task(change: Change, retried: set[str]) -> None:
    old, new = cast(Task, change.old), cast("Task | None", change.new)
    expect(new is not None, f"task {old.id} was lost")
    assert new is not None
    expect(new.attempts >= old.attempts, f"{old.id} went back to attempt {new.attempts}")
    expect(new.generation >= old.generation, f"{old.id} lost a generation")
    if old.state in TASK_ENDED and new.state is not old.state:
        # One that a redo superseded is taken up again whenever its node is visited again.
        asked = old.state is TaskState.SUPERSEDED or old.run_id in retried
        expect(
            new.generation > old.generation and asked,
            f"{old.id} left {old.state} for {new.state} without a reopening",
        )


def check_attempt(change: Change, was: dict[str, Task]) -> None:
    """A result counts only under the newest lease of its task."""
    old, new = cast(Attempt, change.old), cast("Attempt | None", change.new)
    expect(new is not None, f"attempt {old.id} was lost")
    assert new is not None
    expect(new.lease_until >= old.lease_until, f"the lease of {old.id} got shorter")
    if new.state is not AttemptState.SUCCEEDED or old.state is new.state:
        return
    expect(old.state in ATTEMPT_LIVE, f"{old.id} was {old.state} when it was accepted")
    task = was.get(old.task_id)
    newest = task.attempts if task is not None else None
    expect(newest == old.number, f"{old.id} was accepted, the newest attempt was {newest}")

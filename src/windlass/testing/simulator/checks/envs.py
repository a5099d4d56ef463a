"""Environments: a session is what its task says, and nobody has it twice."""

from typing import cast

from windlass.model.envs import ENV_OVER, EnvResource, EnvSession, EnvState
from windlass.model.ids import attempt_id
from windlass.model.notes import read_notes
from windlass.model.rows import Attempt, Event, Task
from windlass.model.states import ATTEMPT_LIVE, TASK_ENDED, Role, TaskState
from windlass.testing.memory import Commit, MemoryDatabase
from windlass.testing.simulator.checks.rows import expect

_NEXT = {
    EnvState.RESERVED: {EnvState.COMMITTED, EnvState.RELEASING},
    EnvState.COMMITTED: {EnvState.HELD, EnvState.KEPT, EnvState.RELEASING},
    EnvState.HELD: {EnvState.COMMITTED, EnvState.RELEASING},
    EnvState.KEPT: {EnvState.RELEASING, EnvState.RELEASED},
    EnvState.RELEASING: {EnvState.RELEASED},
    EnvState.RELEASED: set[EnvState](),
}


LOOK_MS_MIN = 1_000
"""How long a claim waits at least for a look at its place that does not come."""


def check_envs(database: MemoryDatabase, commit: Commit) -> None:
    tasks: set[str] = set()
    made: list[EnvSession] = []
    for table, _, old, new in commit.changes:
        if table is EnvSession and new is not None:
            check_step(cast("EnvSession | None", old), cast(EnvSession, new))
            tasks.add(cast(EnvSession, new).task_id)
            if old is None:
                made.append(cast(EnvSession, new))
        elif table is Task and new is not None and cast(Task, new).env:
            tasks.add(cast(Task, new).id)
        elif table is Attempt and old is None and new is not None:
            made_by = cast(Attempt, new)
            check = check_looked_at if made_by.role is Role.VERIFY else check_placed
            check(database, made_by)
    for resource in {row.resource_id for row in made}:
        check_capacity(database, resource)
    for task_id in sorted(tasks):
        check_task(database, database.table(Task)[task_id])


def check_step(old: EnvSession | None, new: EnvSession) -> None:
    if old is None:
        return
    # Several steps may be one commit.
    reachable, before = {old.state}, set[EnvState]()
    while reachable != before:
        before = set(reachable)
        reachable |= {after for state in before for after in _NEXT[state]}
    expect(new.state in reachable, f"session {new.id} was {old.state} and is {new.state}")
    expect(new.epoch >= old.epoch, f"session {new.id} went back to epoch {new.epoch}")
    if old.attempt_id and new.attempt_id != old.attempt_id:
        expect(new.epoch > old.epoch, f"session {new.id} has another holder and no new epoch")


def check_capacity(database: MemoryDatabase, resource_id: str) -> None:
    resource = database.table(EnvResource)[resource_id]
    sessions = database.table(EnvSession).values()
    alive = [
        row.id
        for row in sessions
        if row.resource_id == resource_id and row.state is not EnvState.RELEASED
    ]
    room = len(alive) <= resource.capacity
    expect(room, f"{resource_id} has room for {resource.capacity}, there are {alive}")


def check_placed(database: MemoryDatabase, attempt: Attempt) -> None:
    """Work that needs a place is handed out with one, unless its outcome came with it."""
    task = database.table(Task)[attempt.task_id]
    if attempt.role is not Role.WORK or "env:" not in task.limits:
        return
    if attempt.state in ATTEMPT_LIVE:
        session = database.table(EnvSession).get(task.env)
        placed = session is not None and session.attempt_id == attempt.id
        expect(placed, f"attempt {attempt.id} works, and has no place")


def check_looked_at(database: MemoryDatabase, attempt: Attempt) -> None:
    """Whoever judges what was done in a place knows what was changed there; only one that could not
    be looked at in time is judged without."""
    task = database.table(Task)[attempt.task_id]
    claim = database.table(Attempt).get(attempt_id(task.id, task.claim))
    if claim is None or read_notes(claim.notes).env_drift is not None:
        return
    placed = [row for row in database.of_run(EnvSession, task.run_id) if row.attempt_id == claim.id]
    patient = not placed or waited_in_vain(database, task)
    expect(patient, f"{attempt.id} judges, and its place was not looked at")


def waited_in_vain(database: MemoryDatabase, task: Task) -> bool:
    """Whether the time for a look passed: its timer fired, by whichever server's clock."""
    mine = [event for event in database.of_run(Event, task.run_id) if event.task_id == task.id]
    made = max((e.seq for e in mine if e.type == "attempt.succeeded"), default=0)
    return any(event.type == "timer.retry" and event.seq > made for event in mine)


def check_task(database: MemoryDatabase, task: Task) -> None:
    mine = [row for row in database.of_run(EnvSession, task.run_id) if row.task_id == task.id]
    using = [row for row in mine if row.state not in (*ENV_OVER, EnvState.KEPT)]
    wanted = [task.env] if task.env else []
    found = [row.id for row in using]
    expect(found == wanted, f"{task.id} has the sessions {found}, and thinks {wanted}")
    for row in using:
        state = task.state
        expect(state not in TASK_ENDED, f"{task.id} is {state} and has session {row.id}")
        expect(state is not TaskState.VERIFYING, f"{task.id} is judged and has session {row.id}")
        held = state is TaskState.RUNNING
        has = row.state is EnvState.COMMITTED and row.bound
        expect(held == has, f"{task.id} is {state}, its session {row.state} of {row.attempt_id}")

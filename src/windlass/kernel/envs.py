"""Environments as the kernel sees them: a task's session follows from where the task stands.

A task that needs a place is handed out only with one. Whoever would hand it out reserves a session
first (`reserve`); the task waits outside its queue until the place is there (`allocated`), and
whoever claims it then has the place with its lease (`bind`). From there on nobody has to remember
to give it back: at the end of every decision each session is made to agree with its task
(`follow`). What the runtime is to do is an effect of the same commit.
"""

from typing import Any

import msgspec
from msgspec.structs import replace

from windlass.kernel.checkpoints import checkpoint_of, is_held_back
from windlass.kernel.events import EnvAllocated, EnvRefused, EnvReserved
from windlass.kernel.requeue import requeue
from windlass.kernel.retry import pause_ms
from windlass.kernel.routing import fail
from windlass.kernel.turn import Turn
from windlass.model.effects import Effect
from windlass.model.envs import (
    ALLOCATE,
    ENV_OVER,
    HOLD,
    RELEASE,
    EnvSession,
    EnvState,
    env_session_id,
    host_address,
    kind_address,
)
from windlass.model.graph import Node
from windlass.model.questions import read_question
from windlass.model.rows import Attempt, Failure, Task
from windlass.model.states import TASK_ENDED, CheckpointState, TaskState

TIMER = "env"
"""Runs while a place waits for an attempt."""
RESUME = "resume_held_env"


def reserve(turn: Turn, task: Task, by: EnvReserved) -> EnvSession:
    """Take a place among the resource's; the task waits until it is there."""
    session = EnvSession(
        id=env_session_id(task.id, turn.seq),
        run_id=task.run_id,
        task_id=task.id,
        tenant=turn.tenant,
        resource_id=by.resource_id,
        resource=turn.node(task).env,
        kind=by.kind,
        state=EnvState.RESERVED,
        limits=by.limits,
        created_at=turn.now,
    )
    turn.make(session)
    note(turn, session)
    turn.make(effect_of(turn, session, ALLOCATE))
    turn.move(task, TaskState.WAITING, env=session.id)
    return session


def allocated(turn: Turn, session: EnvSession, by: EnvAllocated) -> bool:
    """The place is there; false if it is not wanted any more, or not there."""
    if session.state is not EnvState.RESERVED:
        return session.state not in ENV_OVER and session.host == by.host
    expires_at = turn.now + turn.limits.env_lease_ms
    session = replace(
        session,
        state=EnvState.COMMITTED,
        host=by.host,
        details=by.details,
        expires_at=expires_at,
        committed_at=turn.now,
    )
    turn.change(session)
    note(turn, session)
    task = turn.task(session.task_id)
    turn.set_timer(task.id, TIMER, expires_at)
    if is_allocating(task):
        turn.move(task, TaskState.QUEUED)
    return True


def is_allocating(task: Task) -> bool:
    """Whether a task waits for its place to be made, and for nothing else."""
    if task.state is not TaskState.WAITING or not task.env:
        return False
    return task.wait_key is None and task.parked is None and task.due_at is None


def refused(turn: Turn, session: EnvSession, by: EnvRefused) -> None:
    """The place cannot be made: that is a failure of the task's, tried again like any other."""
    give_back(turn, session, f"refused: {by.message}")
    task = turn.task(session.task_id)
    if task.env != session.id:
        return
    waited = is_allocating(task)
    task = turn.move(task, task.state, env="")
    if not waited:
        return  # Once it may go on it gets another place.
    failure = Failure("failed", f'env "{session.resource}": {by.message}', code="env")
    node, failures = turn.node(task), task.failures + 1
    if failures <= node.retry.retries_max:
        pause = pause_ms(node.retry, failures, session.id)
        requeue(turn, task, pause, {"failures": failures, "error": failure.json()})
    else:
        fail(turn, task, failure)


def bind(turn: Turn, task: Task, attempt: Attempt) -> EnvSession | None:
    """Let an attempt have its task's place; whoever had it before may not use it any more."""
    session = turn.get(EnvSession, task.env) if task.env else None
    if session is None or session.state in ENV_OVER:
        return None
    if session.state is EnvState.RESERVED:
        # Only an outcome that came late finds its task without a place.
        give_back(turn, session, "its task went on without it")
        return None
    session = replace(
        session,
        state=EnvState.COMMITTED,
        epoch=session.epoch + int(session.bound),
        attempt_id=attempt.id,
        expires_at=None,
    )
    turn.change(session)
    note(turn, session)
    turn.drop_timer(task.id, TIMER)
    return session


def has_place(turn: Turn, task: Task, attempt: Attempt) -> bool:
    """Whether an attempt of a task was done in a place that is still its own."""
    session = turn.get(EnvSession, task.env) if task.env else None
    return session is not None and session.attempt_id == attempt.id


def told(session: EnvSession | None) -> dict[str, Any] | None:
    """A session as whoever works in it is told."""
    if session is None:
        return None
    return {
        "session_id": session.id,
        "kind": session.kind,
        "resource_name": session.resource,
        "lease_epoch": session.epoch,
        "details": msgspec.json.decode(session.details),
    }


# Following the task


def follow(turn: Turn) -> None:
    """Let the sessions of all tasks that this turn has touched agree with them."""
    for task_id in sorted(turn.with_env):
        task = turn.task(task_id)
        if task.env:
            session = turn.get(EnvSession, task.env)
            if session is None:
                turn.move(task, task.state, env="")  # the session of the run this was forked from
            else:
                _follow(turn, task, session)


def _follow(turn: Turn, task: Task, session: EnvSession) -> None:
    node = turn.node(task)
    if session.state in ENV_OVER:
        turn.move(task, task.state, env="")
    elif session.state is EnvState.RESERVED and task.state is TaskState.QUEUED:
        turn.move(task, TaskState.WAITING)
    elif task.state is TaskState.RUNNING and session.state is EnvState.COMMITTED:
        return
    elif task.state in TASK_ENDED or task.state is TaskState.VERIFYING:
        keeps = task.state is TaskState.FAILED and session.bound and node.env_keep_ms
        if keeps:
            keep(turn, session, node)
        else:
            give_back(turn, session, f"its task is {task.state}")
        turn.move(task, task.state, env="")
    elif session.state is EnvState.COMMITTED and session.bound:
        if is_resumed(turn, task):
            hold(turn, session)
        else:
            give_back(turn, session, "its attempt has ended")
            turn.move(task, task.state, env="")


def is_resumed(turn: Turn, task: Task) -> bool:
    """Whether a task waits for an answer, and is to go on where it was."""
    if is_held_back(task):
        return True
    if task.wait_key is None:
        return False
    asked = checkpoint_of(turn, task)
    if asked is None or asked.state is not CheckpointState.OPEN:
        return False
    policy = read_question(asked.details).resume_policy or {}
    return policy.get("resume_mode") == RESUME


def hold(turn: Turn, session: EnvSession) -> None:
    held = replace(session, state=EnvState.HELD)
    turn.change(held)
    note(turn, held)
    turn.make(effect_of(turn, held, HOLD))


def keep(turn: Turn, session: EnvSession, node: Node) -> None:
    """Somebody may want to see what went wrong; it is given back in a while."""
    due_at = turn.now + node.env_keep_ms
    kept = replace(session, state=EnvState.KEPT, expires_at=due_at)
    turn.change(kept)
    note(turn, kept)
    turn.make(replace(effect_of(turn, kept, RELEASE), id=kept_id(kept), due_at=due_at))


def give_back(turn: Turn, session: EnvSession, reason: str) -> None:
    """The runtime is to have it gone; until it has, the resource's place is taken."""
    if session.state is EnvState.RESERVED:
        turn.remove(Effect, effect_id(session, ALLOCATE))
    elif session.state is EnvState.KEPT:
        turn.remove(Effect, kept_id(session))
    ending = replace(session, state=EnvState.RELEASING, reason=reason[:500], expires_at=None)
    turn.change(ending)
    note(turn, ending)
    turn.drop_timer(session.task_id, TIMER)
    turn.make(effect_of(turn, ending, RELEASE))


def leave(turn: Turn, task: Task) -> None:
    """A task that counts no longer gives its place back at once: taken up again in this very turn,
    it may need another one."""
    session = turn.get(EnvSession, task.env) if task.env else None
    if session is not None and session.state not in ENV_OVER:
        give_back(turn, session, f"its task is {task.state}")
    if task.env:
        turn.move(task, task.state, env="")


def expired(turn: Turn, task: Task) -> None:
    """Nobody came for a place in time."""
    session = turn.get(EnvSession, task.env) if task.env else None
    if session is None or session.bound or session.state is not EnvState.COMMITTED:
        return
    give_back(turn, session, "nobody claimed its task in time")
    turn.move(task, task.state, env="")


def given_up(turn: Turn, session: EnvSession, reason: str) -> bool:
    """Somebody wants a session ended that no attempt has; false if it is over already."""
    if session.state in ENV_OVER:
        return False
    give_back(turn, session, reason)
    task = turn.get(Task, session.task_id)
    if task is not None and task.env == session.id:
        state = TaskState.QUEUED if is_allocating(task) else task.state
        turn.move(task, state, env="")
    return True


def released(turn: Turn, session: EnvSession) -> bool:
    """The runtime says it is gone: the resource has room again."""
    if session.state is EnvState.KEPT:
        session = replace(session, reason="it was kept for long enough")
    elif session.state is not EnvState.RELEASING:
        return False
    gone = replace(session, state=EnvState.RELEASED, released_at=turn.now, expires_at=None)
    turn.change(gone)
    note(turn, gone)
    turn.settled.append(gone)
    return True


def note(turn: Turn, session: EnvSession) -> None:
    turn.note(env=session.id, state=str(session.state), epoch=session.epoch)


def effect_id(session: EnvSession, kind: str) -> str:
    number = f"{session.epoch}" if kind == HOLD else ""
    return f"{session.id}!{kind.partition('.')[2]}{number}"


def kept_id(session: EnvSession) -> str:
    return f"{session.id}!keep"


def effect_of(turn: Turn, session: EnvSession, kind: str) -> Effect:
    address = host_address(session.host) if session.host else kind_address(session.kind)
    return Effect(
        id=effect_id(session, kind),
        kind=kind,
        address=address,
        run_id=session.run_id,
        body=msgspec.json.encode({"session": session.id}).decode(),
        due_at=turn.now,
        created_at=turn.now,
    )

"""What is said of environments: each handler decides one event of a session."""

from windlass.kernel import envs, routing, verifying
from windlass.kernel.decision import NOTHING, Decision
from windlass.kernel.events import EnvAllocated, EnvRefused, EnvReleased, EnvReserved, EnvSeen
from windlass.kernel.finish import finish
from windlass.kernel.turn import Turn
from windlass.model.envs import EnvSession, EnvState
from windlass.model.errors import NotFound
from windlass.model.rows import Attempt, Failure, Task
from windlass.model.states import TaskState

EnvReport = EnvReserved | EnvAllocated | EnvRefused | EnvSeen | EnvReleased


def decide(turn: Turn, event: EnvReport) -> Decision:
    match event:
        case EnvReserved():
            return reserved(turn, event)
        case EnvAllocated():
            return allocated(turn, event)
        case EnvRefused():
            return refused(turn, event)
        case EnvSeen():
            return seen(turn, event)
        case EnvReleased():
            return released(turn, event)


def reserved(turn: Turn, event: EnvReserved) -> Decision:
    task = turn.get(Task, event.task_id)
    if task is None or task.state is not TaskState.QUEUED or task.env:
        return NOTHING
    node = turn.node(task)
    if node.env_kind not in ("", event.kind):
        text = f'env "{node.env}" is a {event.kind}, and {task.node} needs a {node.env_kind}'
        routing.fail(turn, task, Failure("fatal", text, code="env"))
        return finish(turn, "env.refused", task.id, None, reason=text)
    session = envs.reserve(turn, task, event)
    return finish(turn, "env.reserved", task.id, True, env=session.id)


def session_of(turn: Turn, session_id: str) -> EnvSession:
    session = turn.get(EnvSession, session_id)
    if session is None:
        raise NotFound(f'no session "{session_id:.200}"')
    return session


def allocated(turn: Turn, event: EnvAllocated) -> Decision:
    session = session_of(turn, event.session_id)
    if session.state is not EnvState.RESERVED:
        return Decision(answer=envs.allocated(turn, session, event))
    wanted = envs.allocated(turn, session, event)
    return finish(turn, "env.allocated", session.task_id, wanted, host=event.host)


def refused(turn: Turn, event: EnvRefused) -> Decision:
    session = session_of(turn, event.session_id)
    if session.state is not EnvState.RESERVED:
        return NOTHING
    envs.refused(turn, session, event)
    return finish(turn, "env.refused", session.task_id, None, reason=event.message)


def seen(turn: Turn, event: EnvSeen) -> Decision:
    session = session_of(turn, event.session_id)
    task, attempt = turn.task(session.task_id), turn.get(Attempt, session.attempt_id)
    if attempt is None or not verifying.seen(turn, task, attempt, event.drift):
        return NOTHING
    drift = event.drift.status
    return finish(turn, "env.seen", session.task_id, None, env=session.id, drift=drift)


def released(turn: Turn, event: EnvReleased) -> Decision:
    session = session_of(turn, event.session_id)
    if not envs.released(turn, session):
        return NOTHING
    return finish(turn, "env.released", session.task_id, None, env=session.id)

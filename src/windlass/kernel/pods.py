"""Attempts that are pods: they have no lease, and whoever sees their pod states what it saw.

Theory of operation. Before a pod is made, its attempt is *detached* under the pod's name, which
follows from the attempt. From there on no lease can run out: the attempt ends by what somebody saw
of its pod, by its task's time-out, or by a cancel. A sighting counts if it is of this very pod
(name and uid) and the attempt still holds its task; so what is said twice, too late, or of an older
pod changes nothing and costs no retry. How a pod failed is a class, and each has its own rule.
"""

from windlass.kernel import cancel, reports, steering
from windlass.kernel.briefs import given_brief
from windlass.kernel.decision import Decision
from windlass.kernel.events import AttemptDetached, AttemptSucceeded, BriefAsked, PodObserved
from windlass.kernel.finish import finish
from windlass.kernel.leases import is_held
from windlass.kernel.nodes import call
from windlass.kernel.outcomes import newest
from windlass.kernel.requeue import requeue, unreachable_pause_ms
from windlass.kernel.retry import pause_ms
from windlass.kernel.routing import fail
from windlass.kernel.turn import Turn
from windlass.kernel.values import encode
from windlass.model.errors import Conflict
from windlass.model.graph import Retry
from windlass.model.ids import attempt_id
from windlass.model.pods import (
    NO_POD,
    FactOutcome,
    PodClass,
    PodSighting,
    PodSpec,
    PodStatus,
    read_ref,
    write_ref,
)
from windlass.model.quotas import with_memory
from windlass.model.rows import Attempt, Failure, Task, read_failure
from windlass.model.states import ATTEMPT_LIVE, AttemptState

_PAUSE_MS_MAX = 300_000
_JITTER = 0.5
_LOOK_BACK = 32

_KINDS = {
    PodClass.IMAGE: "fatal",
    PodClass.CONFIG: "fatal",
    PodClass.OOM: "failed",
    PodClass.EVICTION: "lost",
    PodClass.CAPACITY: "unreachable",
    PodClass.NODE_LOST: "lost",
    PodClass.DELETED: "cancelled",
    PodClass.DEADLINE: "timeout",
    PodClass.ERROR: "failed",
}
"""What each class is to whoever knows nothing of pods: retries, breakers, edges."""


def decide(turn: Turn, event: AttemptDetached | PodObserved | BriefAsked) -> Decision:
    match event:
        case AttemptDetached():
            return detached(turn, event)
        case PodObserved():
            return observed(turn, event)
        case BriefAsked():
            task, _ = reports.live(turn, event.attempt_id)
            return Decision(answer=given_brief(turn, task, turn.node(task)))


def detached(turn: Turn, event: AttemptDetached) -> Decision:
    """An attempt becomes a pod of this name; the pod may be made once this is committed."""
    task, attempt = reports.live(turn, event.attempt_id)
    ref = read_ref(attempt.external_ref or event.pod)
    if ref.pod != event.pod or (ref.uid and event.uid and ref.uid != event.uid):
        raise Conflict(f"attempt {attempt.id} is {attempt.external_ref} already")
    if attempt.external_ref and (ref.uid or not event.uid):
        return Decision(answer=FactOutcome.DUPLICATE)
    type_ = "attempt.made" if attempt.external_ref else "attempt.detached"
    turn.move_attempt(attempt, external_ref=write_ref(event.pod, event.uid))
    turn.note(attempt=attempt.id, pod=event.pod, uid=event.uid)
    return finish(turn, type_, task.id, FactOutcome.ACCEPTED)


def observed(turn: Turn, event: PodObserved) -> Decision:
    """What a sighting of an attempt's pod means, if it still means anything."""
    attempt, seen = turn.get(Attempt, event.attempt_id), event.seen
    if attempt is None or not attempt.external_ref:
        return Decision(answer=FactOutcome.UNKNOWN)
    ref = read_ref(attempt.external_ref)
    # Without a uid it says that there is no pod, which somebody else may have made meanwhile.
    if seen.pod != ref.pod or (ref.uid and seen.uid != ref.uid):
        return Decision(answer=FactOutcome.STALE)
    task = turn.task(attempt.task_id)
    if task.attempts != attempt.number:
        return Decision(answer=FactOutcome.STALE)
    if attempt.state not in ATTEMPT_LIVE:
        late = seen.status is PodStatus.RUNNING
        return Decision(answer=FactOutcome.STALE if late else FactOutcome.DUPLICATE)
    if not is_held(task):
        return Decision(answer=FactOutcome.STALE)
    if seen.uid and not ref.uid:
        attempt = turn.move_attempt(attempt, external_ref=write_ref(ref.pod, seen.uid))
    match seen.status:
        case PodStatus.RUNNING:
            return _running(turn, task, attempt, seen, adopted=seen.uid != ref.uid)
        case PodStatus.SUCCEEDED if _spec(turn, task).sdk:
            # It hands in its result before it ends, so by now there is none to come.
            text = f"pod {seen.pod} ended well, and handed in no result"
            call.attempt_failed(turn, task, attempt, Failure("failed", text, code=PodClass.ERROR))
            return finish(turn, "attempt.failed", task.id, FactOutcome.ACCEPTED, pod=seen.pod)
        case PodStatus.SUCCEEDED:
            output = encode({"exit_code": seen.exit_code or 0})
            return reports.succeeded(turn, AttemptSucceeded(attempt.id, output))
        case PodStatus.FAILED | PodStatus.CANCELED:
            _failed(turn, task, attempt, seen)
            data = {"class": str(seen.failure_class), "pod": seen.pod, **_place(seen)}
            return finish(turn, "attempt.failed", task.id, FactOutcome.ACCEPTED, **data)


def _running(
    turn: Turn, task: Task, attempt: Attempt, seen: PodSighting, *, adopted: bool
) -> Decision:
    if attempt.state is AttemptState.RUNNING:
        if not adopted:
            return Decision(answer=FactOutcome.DUPLICATE)
    else:
        turn.move_attempt(attempt, state=AttemptState.RUNNING, started_at=turn.now)
    return finish(turn, "attempt.started", task.id, FactOutcome.ACCEPTED, **_place(seen))


def _place(seen: PodSighting) -> dict[str, str]:
    return {"node": seen.node} if seen.node else {}


def _failed(turn: Turn, task: Task, attempt: Attempt, seen: PodSighting) -> None:
    found = seen.failure_class
    failure = Failure(_KINDS[found], _message(seen), code=found)
    match found:
        case PodClass.IMAGE | PodClass.CONFIG | PodClass.DEADLINE | PodClass.ERROR:
            call.attempt_failed(turn, task, attempt, failure)
        case PodClass.OOM:
            _out_of_memory(turn, task, attempt, failure)
        case PodClass.EVICTION:
            _evicted(turn, task, attempt, failure)
        case PodClass.CAPACITY:
            _no_room(turn, task, attempt, failure)
        case PodClass.NODE_LOST:
            _node_lost(turn, task, attempt, failure)
        case PodClass.DELETED:
            _deleted(turn, task, attempt, failure)


def _out_of_memory(turn: Turn, task: Task, attempt: Attempt, failure: Failure) -> None:
    """The same memory would not do the next time: there is one only if the node says how much."""
    spec, retry = _spec(turn, task), turn.node(task).retry
    if not call.end_attempt(turn, task, attempt, failure):
        return
    if spec.oom_memory_factor <= 1 or _in_a_row(turn, task, attempt, failure) >= spec.oom_retries:
        fail(turn, task, failure)
        return
    failures = task.failures + 1
    more = with_memory(task.limits, spec.oom_memory_factor)
    columns = {"failures": failures, "error": failure.json(), "limits": more}
    requeue(turn, task, pause_ms(retry, failures, attempt.id), columns)


def _evicted(turn: Turn, task: Task, attempt: Attempt, failure: Failure) -> None:
    """The node was short of something: later, and elsewhere, the same may go well."""
    wait_s = _spec(turn, task).eviction_wait_s
    pause = _pause_ms(wait_s, _in_a_row(turn, task, attempt, failure) + 1, attempt.id)
    _move(turn, task, attempt, failure, pause)


def _no_room(turn: Turn, task: Task, attempt: Attempt, failure: Failure) -> None:
    """No node has room for it: perhaps in a while, but not for ever."""
    spec = _spec(turn, task)
    before = _in_a_row(turn, task, attempt, failure)
    if not call.end_attempt(turn, task, attempt, failure):
        return
    if before >= spec.capacity_retries:
        fail(turn, task, failure)
        return
    pause = _pause_ms(spec.capacity_wait_s, before + 1, attempt.id)
    requeue(turn, task, pause, {"moves": task.moves + 1, "error": failure.json()})


def _node_lost(turn: Turn, task: Task, attempt: Attempt, failure: Failure) -> None:
    _move(turn, task, attempt, failure, unreachable_pause_ms(task.moves + 1))


def _deleted(turn: Turn, task: Task, attempt: Attempt, failure: Failure) -> None:
    """Somebody deleted the pod, which is how one cancels where pods are seen.

    In a plan that is the one task; one of many branches is for its fan-out to judge; any other is
    where the run leads through, so the run is cancelled with it.
    """
    if turn.cancelling:
        call.end_attempt(turn, task, attempt, failure)
    elif turn.node(task).planned is not None:
        call.end_attempt(turn, task, attempt, failure)
        steering.cancel_task(turn, task.id)
    elif task.idx >= 0:
        call.end_attempt(turn, task, attempt, failure)
        fail(turn, task, failure)
    else:
        cancel.cancel_run(turn)
        call.end_attempt(turn, task, newest(turn, task), failure)


def _move(turn: Turn, task: Task, attempt: Attempt, failure: Failure, pause: int) -> None:
    """Try again without counting it against the task, though not without end."""
    bound = turn.node(task).retry.moves_max
    moves_max = turn.limits.moves_max if bound is None else bound - 1
    if not call.end_attempt(turn, task, attempt, failure):
        return
    moves = task.moves + 1
    if moves > moves_max:
        fail(turn, task, failure)
    else:
        requeue(turn, task, pause, {"moves": moves, "error": failure.json()})


def _pause_ms(wait_s: float, times: int, seed: str) -> int:
    wait_ms = int(wait_s * 1000)
    most = max(wait_ms, _PAUSE_MS_MAX)
    rule = Retry(wait_ms=wait_ms, factor=2.0, wait_ms_max=most, jitter=_JITTER)
    return pause_ms(rule, times, seed)


def _in_a_row(turn: Turn, task: Task, attempt: Attempt, failure: Failure) -> int:
    """How many attempts right before this one, since the task was last begun afresh, have met the
    same class of failure."""
    most = min(task.moves + task.failures, _LOOK_BACK)
    numbers = range(attempt.number - 1, max(0, attempt.number - 1 - most), -1)
    ids = [attempt_id(task.id, number) for number in numbers]
    rows = turn.rows(Attempt, ids)
    count = 0
    for key in ids:
        row = rows[key]
        before = read_failure(row.error) if row is not None else None
        if before is None or before.code != failure.code:
            break
        count += 1
    return count


def _spec(turn: Turn, task: Task) -> PodSpec:
    target = turn.node(task).target
    return target.pod if target is not None and target.pod is not None else NO_POD


def _message(seen: PodSighting) -> str:
    """What people read: the pod, what Kubernetes calls it, and what else was said."""
    said = str(seen.reason)
    if seen.terminated_reason and seen.terminated_reason != said:
        said += f" ({seen.terminated_reason})"
    if seen.exit_code is not None:
        said += f", exit code {seen.exit_code}"
    more = f": {seen.message}" if seen.message and seen.message != seen.reason else ""
    return f"pod {seen.pod}: {said}{more}"

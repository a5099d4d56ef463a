"""What a pod says, as an observation for its task; pure, so that everybody sees the same.

A pod says several things at once, and the first of these rules that finds something holds:
it succeeded; it failed, and then because of whoever ended it, of the pod's own reason, or of its
containers; its node is lost; it cannot begin; it should be gone by now; it waits for too long; it
runs. Pending is nobody's business here: that is said by whoever queues.
"""

from dataclasses import dataclass
from datetime import datetime

from windlass.kube.pods import Container, Pod, Terminated
from windlass.kube.table import (
    IMAGE,
    IMAGE_REASONS,
    MEANING,
    ReasonField,
    Row,
    eviction_cause,
    pod_row,
)
from windlass.protocol.pod_facts import MAIN, PodReason, PodStatus

MESSAGE_MAX = 2_000
_CREATING = frozenset({"", "ContainerCreating", "PodInitializing"})
_LOST = frozenset({"DeletionByTaintManager", "DeletionByPodGC"})


@dataclass(frozen=True, slots=True)
class Deadlines:
    """For how long a pod may be in a state that others would call pending."""

    unschedulable_s: float = 300.0
    creating_s: float = 120.0
    leaving_s: float = 30.0
    """Beyond the grace of its deletion: then nobody is there any more who would end it."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What was seen: a row of the table, and when and how it came to be."""

    status: PodStatus
    reason: PodReason
    condition: str
    at: float
    """When it happened, in seconds of Unix time; Kubernetes tells whole seconds only."""
    message: str = ""
    exit_code: int | None = None
    terminated_reason: str | None = None


def observe(pod: Pod, now: float, deadlines: Deadlines) -> Observation | None:
    """What there is to say about a pod that is there."""
    phase = pod.status.phase
    if phase == "Succeeded":
        return _seen(pod, MEANING[ReasonField.PHASE, phase], _ended_at(pod))
    if phase == "Failed":
        return _failed(pod)
    found = _lost(pod) or (_cannot_begin(pod) if phase == "Pending" else None)
    if found is not None:
        return found
    leaves = pod.metadata.deletion_timestamp
    if leaves is not None and now >= seconds(leaves) + deadlines.leaving_s:
        return gone(pod, now)
    if phase == "Pending":
        # One that is to go may well not begin any more.
        return _overdue(pod, now, deadlines) if leaves is None else None
    if phase == "Running":
        return _seen(pod, MEANING[ReasonField.PHASE, phase], _began_at(pod))
    return None


def gone(pod: Pod, now: float) -> Observation:
    """A pod that was deleted before it said how it ended, as it was seen last."""
    if pod.status.phase in ("Succeeded", "Failed"):
        ended = observe(pod, now, Deadlines())
        assert ended is not None, "what has ended says so"
        return ended
    row = _disruption(pod) or MEANING[ReasonField.DISRUPTION, ""]
    leaves = pod.metadata.deletion_timestamp
    at = now if leaves is None else min(now, seconds(leaves))
    return _seen(pod, row, at, condition="gone")


def look_again_at(pod: Pod, deadlines: Deadlines) -> float | None:
    """When time alone would change what there is to say about a pod."""
    if pod.metadata.deletion_timestamp is not None:
        return seconds(pod.metadata.deletion_timestamp) + deadlines.leaving_s
    if pod.status.phase != "Pending":
        return None
    due = _due(pod, deadlines)
    return None if due is None else due[0]


def restarts(pod: Pod) -> int:
    return sum(container.restart_count for container in pod.status.container_statuses)


def seconds(moment: datetime) -> float:
    return moment.timestamp()


def _failed(pod: Pod) -> Observation:
    at = _ended_at(pod)
    row = _disruption(pod)
    if row is not None and _before(_asked_to_end_at(pod), at):
        if row.reason is PodReason.EVICTED and (said := pod_row(pod.status.reason)):
            row = said  # the kubelet says more than that it was the kubelet
        return _seen(pod, row, at)
    row = pod_row(pod.status.reason)
    if row is not None:
        return _seen(pod, row, at)
    deleted = pod.metadata.deletion_timestamp
    if deleted is not None and _before(_asked_to_end_at(pod), at):
        # Its program was told to stop and did: that is no failure of its own.
        return _seen(pod, MEANING[ReasonField.DISRUPTION, ""], at)
    main = _terminated(pod.container(MAIN))
    row = MEANING.get((ReasonField.ENDED, main.reason)) if main is not None else None
    if row is None and main is None:
        return _init_failed(pod, at)
    return _seen(pod, row or MEANING[ReasonField.PHASE, "Failed"], at)


def _init_failed(pod: Pod, at: float) -> Observation:
    for container in pod.status.init_container_statuses:
        ended = _terminated(container)
        if ended is None or ended.exit_code == 0:
            continue
        row = MEANING.get((ReasonField.ENDED, ended.reason))
        if row is None:
            row = Row(ReasonField.ENDED, ended.reason, PodStatus.FAILED, PodReason.INIT_FAILED)
        said = ended.message or ended.reason
        message = f'init container "{container.name}" ended with {ended.exit_code}: {said}'
        return _seen(pod, row, at, message=message)
    return _seen(pod, MEANING[ReasonField.PHASE, "Failed"], at)


def _lost(pod: Pod) -> Observation | None:
    """A pod whose node nobody hears of: its kubelet will not tell how it ended."""
    said = pod.status.reason == "NodeLost" or pod.status.phase == "Unknown"
    disruption = pod.condition("DisruptionTarget")
    if disruption is not None and disruption.status == "True" and disruption.reason in _LOST:
        return _seen(
            pod,
            MEANING[ReasonField.DISRUPTION, disruption.reason],
            _moment(disruption.last_transition_time, pod),
        )
    if not said:
        return None
    ready = pod.condition("Ready")
    at = _moment(ready.last_transition_time if ready else None, pod)
    return _seen(pod, MEANING[ReasonField.POD, "NodeLost"], at)


def _cannot_begin(pod: Pod) -> Observation | None:
    for container in (*pod.status.init_container_statuses, *pod.status.container_statuses):
        waiting = container.state.waiting
        row = MEANING.get((ReasonField.WAITING, waiting.reason)) if waiting else None
        if waiting is None or row is None:
            continue
        ready = pod.condition("ContainersReady") or pod.condition("Ready")
        at = _moment(ready.last_transition_time if ready else pod.status.start_time, pod)
        condition = IMAGE if row.reason in IMAGE_REASONS else ""
        message = f'container "{container.name}": {waiting.message or waiting.reason}'
        return _seen(pod, row, at, message=message, condition=condition)
    return None


def _overdue(pod: Pod, now: float, deadlines: Deadlines) -> Observation | None:
    due = _due(pod, deadlines)
    if due is None or now < due[0]:
        return None
    at, says, message = due
    return _seen(pod, MEANING[ReasonField.DEADLINE, says], at, message=message)


def _due(pod: Pod, deadlines: Deadlines) -> tuple[float, str, str] | None:
    """When a pending pod is given up, as what, and what is said then."""
    scheduled = pod.condition("PodScheduled")
    if not pod.spec.node_name:
        if scheduled is None or scheduled.reason != "Unschedulable":
            return None  # nobody has tried yet, or somebody holds it back on purpose
        since = _moment(scheduled.last_transition_time, pod)
        message = scheduled.message or "no node takes this pod"
        return since + deadlines.unschedulable_s, "Unschedulable", message
    since = _moment(scheduled.last_transition_time if scheduled else pod.status.start_time, pod)
    for container in pod.status.init_container_statuses:
        if container.state.running is not None:
            return None  # it does something; how long that may take is not ours to say
        ended = _terminated(container)
        if ended is not None and ended.finished_at is not None:
            since = max(since, seconds(ended.finished_at))
    waiting = [c.state.waiting for c in pod.status.container_statuses if c.state.waiting]
    if any(found.reason not in _CREATING for found in waiting):
        return None
    said = next((found.message for found in waiting if found.message), "")
    message = said or f"its containers were not made within {deadlines.creating_s:g} s"
    return since + deadlines.creating_s, "ContainerCreating", message


def _disruption(pod: Pod) -> Row | None:
    found = pod.condition("DisruptionTarget")
    if found is None or found.status != "True":
        return None
    return MEANING.get((ReasonField.DISRUPTION, found.reason))


def _asked_to_end_at(pod: Pod) -> float | None:
    """When somebody began to end the pod from outside."""
    disruption = pod.condition("DisruptionTarget")
    if disruption is not None and disruption.last_transition_time is not None:
        return seconds(disruption.last_transition_time)
    leaves = pod.metadata.deletion_timestamp
    if leaves is None:
        return None
    return seconds(leaves) - (pod.metadata.deletion_grace_period_seconds or 0)


def _before(asked_at: float | None, at: float) -> bool:
    return asked_at is not None and asked_at <= at


def _ended_at(pod: Pod) -> float:
    """When the main container ended; without one, when the pod last changed."""
    main = _terminated(pod.container(MAIN))
    if main is not None and main.finished_at is not None:
        return seconds(main.finished_at)
    ends = [
        seconds(ended.finished_at)
        for container in pod.status.init_container_statuses
        if (ended := _terminated(container)) is not None and ended.finished_at is not None
    ]
    changes = [
        seconds(condition.last_transition_time)
        for condition in pod.status.conditions
        if condition.last_transition_time is not None
    ]
    return max([*ends, *changes], default=_moment(None, pod))


def _began_at(pod: Pod) -> float:
    main = pod.container(MAIN)
    running = main.state.running if main is not None else None
    return _moment(running.started_at if running is not None else pod.status.start_time, pod)


def _terminated(container: Container | None) -> Terminated | None:
    return container.state.terminated if container is not None else None


def _moment(found: datetime | None, pod: Pod) -> float:
    moment = found or pod.status.start_time or pod.metadata.creation_timestamp
    return seconds(moment) if moment is not None else 0.0


def _seen(pod: Pod, row: Row, at: float, *, message: str = "", condition: str = "") -> Observation:
    main = _terminated(pod.container(MAIN))
    failed = row.status not in (PodStatus.RUNNING, PodStatus.SUCCEEDED)
    said = message
    if not said and failed:
        of_main = (main.message or main.reason) if main is not None else ""
        # Where the pod as a whole was ended, its container only says that it was killed.
        words = (
            (of_main, pod.status.message)
            if row.place is not ReasonField.POD
            else (pod.status.message, of_main)
        )
        said = next(filter(None, words), pod.status.reason)
    cause = eviction_cause(pod.status.message) if row.says == "Evicted" else row.terminated_reason
    return Observation(
        status=row.status,
        reason=row.reason,
        condition=condition or f"{row.reason}:{cause or ''}",
        at=at,
        message=said[:MESSAGE_MAX],
        exit_code=main.exit_code if main is not None else None,
        terminated_reason=cause,
    )

"""What was seen of a pod as a fact that travels: the same for whoever saw it."""

import hashlib

from windlass.kube.interpret import Observation, restarts
from windlass.kube.pods import Pod
from windlass.protocol.pod_facts import ATTEMPT, TASK_ID, TENANT_ID, WORKFLOW_ID, Envelope, PodFact

_ATTEMPT_DIGITS = 9


def task_of(pod: Pod) -> str:
    """The task a pod is of. A label holds no long ids, so its annotation comes first."""
    return pod.metadata.annotations.task_id or pod.metadata.labels.get(TASK_ID, "")


def attempt_of(pod: Pod) -> int | None:
    """The number of the attempt a pod is."""
    attempt = pod.metadata.labels.get(ATTEMPT, "")
    numbered = attempt.isascii() and attempt.isdigit() and len(attempt) <= _ATTEMPT_DIGITS
    return int(attempt) if numbered else None


def event_id(pod: Pod, seen: Observation) -> str:
    """The same for whoever sees this transition of this pod."""
    parts = (pod.metadata.uid, restarts(pod), seen.condition, int(seen.at))
    return hashlib.sha256("|".join(map(str, parts)).encode()).hexdigest()[:32]


def envelope(pod: Pod, seen: Observation, identity: str, now: float) -> Envelope:
    labels = pod.metadata.labels
    fact = PodFact(
        task_id=task_of(pod),
        workflow_id=labels[WORKFLOW_ID],
        status=seen.status,
        event_id=identity,
        pod_uid=pod.metadata.uid,
        pod_name=pod.metadata.name,
        namespace=pod.metadata.namespace,
        node=pod.spec.node_name or None,
        reason=seen.reason,
        observed_at=round(now, 3),
        message=seen.message or None,
        exit_code=seen.exit_code,
        tenant_id=labels.get(TENANT_ID) or None,
        attempt=attempt_of(pod),
        terminated_reason=seen.terminated_reason,
    )
    return Envelope(timestamp=int(seen.at), data=fact)

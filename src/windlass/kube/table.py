"""What Kubernetes says about a pod, and what it means for its task: one row for each thing said.

`interpret` looks for what a pod says in the order of its own rules and finds the meaning here.
"""

import re
from enum import StrEnum
from typing import NamedTuple

from windlass.protocol.pod_facts import PodReason as R
from windlass.protocol.pod_facts import PodStatus as S


class ReasonField(StrEnum):
    """Where in a pod something is said."""

    PHASE = "phase"
    POD = "status.reason"
    """Why the whole pod failed: said by the kubelet or the control plane."""
    ENDED = "terminated.reason"
    """Why the container that does the work ended."""
    WAITING = "waiting.reason"
    """Why a container has not begun."""
    DISRUPTION = "DisruptionTarget"
    """Who ends the pod from outside: the reason of that condition."""
    DEADLINE = "deadline"
    """What is said for longer than it may be."""


class Row(NamedTuple):
    place: ReasonField
    says: str
    status: S
    reason: R
    terminated_reason: str | None = None


IMAGE = "image"
"""A pull that failed goes to and fro between two reasons and is one condition."""

TABLE = (
    Row(ReasonField.PHASE, "Running", S.RUNNING, R.RUNNING),
    Row(ReasonField.PHASE, "Succeeded", S.SUCCEEDED, R.COMPLETED),
    Row(ReasonField.PHASE, "Failed", S.FAILED, R.ERROR),
    Row(ReasonField.PHASE, "Unknown", S.FAILED, R.NODE_LOST, "NodeLost"),
    Row(ReasonField.POD, "Evicted", S.FAILED, R.EVICTED),
    Row(ReasonField.POD, "OutOfcpu", S.FAILED, R.EVICTED, "OutOfcpu"),
    Row(ReasonField.POD, "OutOfmemory", S.FAILED, R.EVICTED, "OutOfmemory"),
    Row(ReasonField.POD, "Preempting", S.FAILED, R.PREEMPTED, "Preempted"),
    Row(ReasonField.POD, "Preempted", S.FAILED, R.PREEMPTED, "Preempted"),
    Row(ReasonField.POD, "DeadlineExceeded", S.FAILED, R.DEADLINE_EXCEEDED),
    Row(ReasonField.POD, "NodeLost", S.FAILED, R.NODE_LOST, "NodeLost"),
    Row(ReasonField.POD, "NodeShutdown", S.FAILED, R.NODE_LOST, "NodeShutdown"),
    Row(ReasonField.POD, "Shutdown", S.FAILED, R.NODE_LOST, "NodeShutdown"),
    Row(ReasonField.POD, "Terminated", S.FAILED, R.NODE_LOST, "NodeShutdown"),
    Row(ReasonField.ENDED, "OOMKilled", S.FAILED, R.OOM_KILLED),
    Row(ReasonField.ENDED, "StartError", S.FAILED, R.START_ERROR),
    Row(ReasonField.ENDED, "ContainerCannotRun", S.FAILED, R.START_ERROR),
    Row(ReasonField.ENDED, "DeadlineExceeded", S.FAILED, R.DEADLINE_EXCEEDED),
    Row(ReasonField.WAITING, "ErrImagePull", S.FAILED, R.ERR_IMAGE_PULL),
    Row(ReasonField.WAITING, "ImagePullBackOff", S.FAILED, R.IMAGE_PULL_BACK_OFF),
    Row(ReasonField.WAITING, "ErrImageNeverPull", S.FAILED, R.ERR_IMAGE_PULL),
    Row(ReasonField.WAITING, "InvalidImageName", S.FAILED, R.INVALID_IMAGE_NAME),
    Row(ReasonField.WAITING, "CreateContainerConfigError", S.FAILED, R.CONFIG_ERROR),
    Row(ReasonField.WAITING, "CreateContainerError", S.FAILED, R.CREATE_ERROR),
    Row(ReasonField.WAITING, "RunContainerError", S.FAILED, R.START_ERROR),
    Row(ReasonField.DISRUPTION, "PreemptionByScheduler", S.FAILED, R.PREEMPTED, "Preempted"),
    Row(ReasonField.DISRUPTION, "PreemptionByKubeScheduler", S.FAILED, R.PREEMPTED, "Preempted"),
    Row(ReasonField.DISRUPTION, "DeletionByTaintManager", S.FAILED, R.NODE_LOST, "NodeLost"),
    Row(ReasonField.DISRUPTION, "DeletionByPodGC", S.FAILED, R.NODE_LOST, "NodeLost"),
    Row(
        ReasonField.DISRUPTION,
        "EvictionByEvictionAPI",
        S.FAILED,
        R.EVICTED,
        "EvictionByEvictionAPI",
    ),
    Row(ReasonField.DISRUPTION, "TerminationByKubelet", S.FAILED, R.EVICTED, "NodePressure"),
    Row(ReasonField.DISRUPTION, "", S.CANCELED, R.DELETED, "DeletedByUser"),
    Row(ReasonField.DEADLINE, "ContainerCreating", S.FAILED, R.CONTAINER_CREATING),
    Row(ReasonField.DEADLINE, "Unschedulable", S.FAILED, R.UNSCHEDULABLE),
)
MEANING = {(row.place, row.says): row for row in TABLE}

IMAGE_REASONS = frozenset({R.ERR_IMAGE_PULL, R.IMAGE_PULL_BACK_OFF})

_CAUSES = (
    # The pod's own use is no pressure of the node's: another node would end it as well.
    ("OverLimit", r"usage exceeds|exceeded its local ephemeral|exceeds the limit"),
    ("MemoryPressure", r"MemoryPressure|resource: memory"),
    ("DiskPressure", r"DiskPressure|resource: (ephemeral-storage|inodes)|nodefs|imagefs"),
)
_PATTERNS = tuple((cause, re.compile(pattern, re.IGNORECASE)) for cause, pattern in _CAUSES)


def eviction_cause(message: str) -> str:
    """What a node was short of, by what its kubelet wrote; else only that it was under pressure."""
    for cause, pattern in _PATTERNS:
        if pattern.search(message):
            return cause
    return "NodePressure"


def pod_row(reason: str) -> Row | None:
    """The row for a pod's own reason; every `OutOf…` is a node that had no room for it."""
    row = MEANING.get((ReasonField.POD, reason))
    if row is None and reason.startswith("OutOf"):
        return Row(ReasonField.POD, reason, S.FAILED, R.EVICTED, reason)
    return row

"""What Kubernetes says about a pod, and what it means for its task: one row for each thing said.

`interpret` looks for what a pod says in the order of its own rules and finds the meaning here.
"""

import re
from enum import StrEnum
from typing import NamedTuple

from windlass.protocol.pod_facts import PodReason as R
from windlass.protocol.pod_facts import PodStatus as S


class Place(StrEnum):
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
    place: Place
    says: str
    status: S
    reason: R
    terminated_reason: str | None = None


IMAGE = "image"
"""A pull that failed goes to and fro between two reasons and is one condition."""

TABLE = (
    Row(Place.PHASE, "Running", S.RUNNING, R.RUNNING),
    Row(Place.PHASE, "Succeeded", S.SUCCEEDED, R.COMPLETED),
    Row(Place.PHASE, "Failed", S.FAILED, R.ERROR),
    Row(Place.PHASE, "Unknown", S.FAILED, R.NODE_LOST, "NodeLost"),
    Row(Place.POD, "Evicted", S.FAILED, R.EVICTED),
    Row(Place.POD, "OutOfcpu", S.FAILED, R.EVICTED, "OutOfcpu"),
    Row(Place.POD, "OutOfmemory", S.FAILED, R.EVICTED, "OutOfmemory"),
    Row(Place.POD, "Preempting", S.FAILED, R.PREEMPTED, "Preempted"),
    Row(Place.POD, "Preempted", S.FAILED, R.PREEMPTED, "Preempted"),
    Row(Place.POD, "DeadlineExceeded", S.FAILED, R.DEADLINE_EXCEEDED),
    Row(Place.POD, "NodeLost", S.FAILED, R.NODE_LOST, "NodeLost"),
    Row(Place.POD, "NodeShutdown", S.FAILED, R.NODE_LOST, "NodeShutdown"),
    Row(Place.POD, "Shutdown", S.FAILED, R.NODE_LOST, "NodeShutdown"),
    Row(Place.POD, "Terminated", S.FAILED, R.NODE_LOST, "NodeShutdown"),
    Row(Place.ENDED, "OOMKilled", S.FAILED, R.OOM_KILLED),
    Row(Place.ENDED, "StartError", S.FAILED, R.START_ERROR),
    Row(Place.ENDED, "ContainerCannotRun", S.FAILED, R.START_ERROR),
    Row(Place.ENDED, "DeadlineExceeded", S.FAILED, R.DEADLINE_EXCEEDED),
    Row(Place.WAITING, "ErrImagePull", S.FAILED, R.ERR_IMAGE_PULL),
    Row(Place.WAITING, "ImagePullBackOff", S.FAILED, R.IMAGE_PULL_BACK_OFF),
    Row(Place.WAITING, "ErrImageNeverPull", S.FAILED, R.ERR_IMAGE_PULL),
    Row(Place.WAITING, "InvalidImageName", S.FAILED, R.INVALID_IMAGE_NAME),
    Row(Place.WAITING, "CreateContainerConfigError", S.FAILED, R.CONFIG_ERROR),
    Row(Place.WAITING, "CreateContainerError", S.FAILED, R.CREATE_ERROR),
    Row(Place.WAITING, "RunContainerError", S.FAILED, R.START_ERROR),
    Row(Place.DISRUPTION, "PreemptionByScheduler", S.FAILED, R.PREEMPTED, "Preempted"),
    Row(Place.DISRUPTION, "PreemptionByKubeScheduler", S.FAILED, R.PREEMPTED, "Preempted"),
    Row(Place.DISRUPTION, "DeletionByTaintManager", S.FAILED, R.NODE_LOST, "NodeLost"),
    Row(Place.DISRUPTION, "DeletionByPodGC", S.FAILED, R.NODE_LOST, "NodeLost"),
    Row(Place.DISRUPTION, "EvictionByEvictionAPI", S.FAILED, R.EVICTED, "EvictionByEvictionAPI"),
    Row(Place.DISRUPTION, "TerminationByKubelet", S.FAILED, R.EVICTED, "NodePressure"),
    Row(Place.DISRUPTION, "", S.CANCELED, R.DELETED, "DeletedByUser"),
    Row(Place.DEADLINE, "ContainerCreating", S.FAILED, R.CONTAINER_CREATING),
    Row(Place.DEADLINE, "Unschedulable", S.FAILED, R.UNSCHEDULABLE),
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
    row = MEANING.get((Place.POD, reason))
    if row is None and reason.startswith("OutOf"):
        return Row(Place.POD, reason, S.FAILED, R.EVICTED, reason)
    return row

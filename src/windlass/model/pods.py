"""Pods: what a node says of its pod, what is seen of one, and what kind of failure that is.

A pod is one attempt. An attempt whose pod has been decided on is *detached*: it has no lease that
could run out, and what becomes of it is told by whoever sees its pod. Its `external_ref` is the
pod's namespace and name, with its uid behind them once somebody has seen it.
"""

import re
from enum import StrEnum
from typing import Any, NamedTuple

import msgspec

from windlass.model.rows import Attempt

NAMESPACE = "default"
"""Where pods of nodes are queued that name no namespace; the server may have another for them."""
DETACHED_UNTIL = 253_402_300_799_000
"""The lease of a detached attempt, as far away as a date can be written."""


class PodStatus(StrEnum):
    """What a pod's task is told to be; never pending or queued, which are not the pod's to say."""

    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    CANCELED = "CANCELED"


class PodReason(StrEnum):
    """Why, in the words of Kubernetes where it has one."""

    RUNNING = "Running"
    COMPLETED = "Completed"
    ERROR = "Error"
    OOM_KILLED = "OOMKilled"
    INIT_FAILED = "InitFailed"
    START_ERROR = "StartError"
    ERR_IMAGE_PULL = "ErrImagePull"
    IMAGE_PULL_BACK_OFF = "ImagePullBackOff"
    INVALID_IMAGE_NAME = "InvalidImageName"
    CONFIG_ERROR = "CreateContainerConfigError"
    CREATE_ERROR = "CreateContainerError"
    CONTAINER_CREATING = "ContainerCreating"
    UNSCHEDULABLE = "Unschedulable"
    EVICTED = "Evicted"
    PREEMPTED = "Preempted"
    DEADLINE_EXCEEDED = "DeadlineExceeded"
    NODE_LOST = "NodeLost"
    DELETED = "Deleted"
    REFUSED = "Refused"
    """It was never made, and would not be the next time."""


class FactOutcome(StrEnum):
    """What became of a fact that somebody stated."""

    ACCEPTED = "accepted"
    DUPLICATE = "duplicate"
    """It was known already."""
    STALE = "stale"
    """It is about a pod or an attempt that does not count any more."""
    UNKNOWN = "unknown"
    """It is about nothing that is known here."""
    IGNORED = "ignored"
    """It is no fact that anything follows from."""


class PodClass(StrEnum):
    """What kind of failure a pod has met; what follows is a rule of the kernel's for each."""

    IMAGE = "pod.image"
    CONFIG = "pod.config"
    OOM = "pod.oom"
    EVICTION = "pod.eviction"
    CAPACITY = "pod.capacity"
    NODE_LOST = "pod.node_lost"
    DELETED = "pod.deleted"
    DEADLINE = "pod.deadline"
    ERROR = "pod.error"


CLASSES = {
    PodReason.ERROR: PodClass.ERROR,
    PodReason.INIT_FAILED: PodClass.ERROR,
    PodReason.START_ERROR: PodClass.ERROR,
    PodReason.OOM_KILLED: PodClass.OOM,
    PodReason.ERR_IMAGE_PULL: PodClass.IMAGE,
    PodReason.IMAGE_PULL_BACK_OFF: PodClass.IMAGE,
    PodReason.INVALID_IMAGE_NAME: PodClass.IMAGE,
    PodReason.CONFIG_ERROR: PodClass.CONFIG,
    PodReason.CREATE_ERROR: PodClass.CONFIG,
    PodReason.CONTAINER_CREATING: PodClass.CAPACITY,
    PodReason.UNSCHEDULABLE: PodClass.CAPACITY,
    PodReason.EVICTED: PodClass.EVICTION,
    PodReason.PREEMPTED: PodClass.EVICTION,
    PodReason.DEADLINE_EXCEEDED: PodClass.DEADLINE,
    PodReason.NODE_LOST: PodClass.NODE_LOST,
    PodReason.DELETED: PodClass.DELETED,
    PodReason.REFUSED: PodClass.CONFIG,
}


class PodSighting(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody saw of the pod of one attempt."""

    status: PodStatus
    reason: PodReason
    pod: str
    """Its namespace and name."""
    uid: str = ""
    """Empty only where there never was a pod."""
    message: str = ""
    exit_code: int | None = None
    terminated_reason: str = ""
    node: str = ""
    """Where it is, of the cluster's nodes."""

    @property
    def failure_class(self) -> PodClass:
        if self.reason is PodReason.EVICTED:
            if self.terminated_reason.startswith("OutOf"):
                return PodClass.CAPACITY
            if self.terminated_reason == "OverLimit":
                return PodClass.ERROR  # its own use: any other node would end it as well
        return CLASSES.get(self.reason, PodClass.ERROR)


class PodRef(NamedTuple):
    """An attempt's `external_ref`, read."""

    pod: str
    uid: str


def read_ref(external_ref: str) -> PodRef:
    namespace, _, rest = external_ref.partition("/")
    name, _, uid = rest.partition("/")
    return PodRef(f"{namespace}/{name}", uid)


def lease_of(attempt: Attempt) -> int | None:
    """Until when it is leased; None for one that is detached."""
    return None if attempt.external_ref else attempt.lease_until


def write_ref(pod: str, uid: str) -> str:
    return f"{pod}/{uid}" if uid else pod


class SecretRef(msgspec.Struct, frozen=True):
    """A key of a Kubernetes Secret, whose value only the pod gets to see."""

    name: str
    key: str


class PodSpec(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What a node says of its pods."""

    image: str
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    secrets: dict[str, SecretRef] = {}
    """By the variable that holds the value in the pod."""
    cpu: str = ""
    memory: str = ""
    gpu: int = 0
    namespace: str = ""
    """Empty for the one the server has for the run's tenant."""
    node_selector: dict[str, str] = {}
    tolerations: tuple[dict[str, Any], ...] = ()
    service_account: str = ""
    active_deadline_s: int = 0
    grace_s: int = 30
    """How long it may take to end when it is told to."""
    sdk: bool = False
    """Its program hands in the result; an exit code alone is none."""
    oom_memory_factor: float = 0.0
    """By how much the next pod has more memory after one that ran out of it; 0: there is none."""
    oom_retries: int = 3
    eviction_wait_s: float = 10.0
    """The first pause after an eviction; it doubles from one to the next."""
    capacity_retries: int = 5
    """How often in a row no node may have room before the task is given up."""
    capacity_wait_s: float = 30.0


NO_POD = PodSpec(image="")

_AMOUNT = re.compile(r"([0-9.]+)([A-Za-z]*)")
_UNITS = {"": 1, "m": 0.001, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15} | {
    f"{unit}i": 1024**power for power, unit in enumerate("KMGTP", 1)
}


def amount_of(quantity: str) -> float:
    """An amount as Kubernetes writes it (`500m`, `2Gi`), in processors or bytes; 0 for none."""
    found = _AMOUNT.fullmatch(quantity)
    assert found is not None or not quantity, "the definition was checked"
    return float(found[1]) * _UNITS[found[2]] if found is not None else 0.0

"""Pods as a cluster would show them: a workload, and every way it can come to an end.

A `Kind` plays one: a status, and for some a deletion or a wait. What should be said about it
stands beside it, so that one list serves the tests of the table and of the whole way to Redis.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from windlass.protocol import pod_facts

Json = dict[str, Any]


def moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def workload(name: str, task: str, node: str = "n1", tenant: str = "a", attempt: int = 1) -> Json:
    """A pod as it is created."""
    labels = {
        pod_facts.WORKLOAD: "true",
        pod_facts.TASK_ID: task,
        pod_facts.WORKFLOW_ID: "w1",
        pod_facts.TENANT_ID: tenant,
        pod_facts.ATTEMPT: str(attempt),
    }
    containers = [{"name": "main", "image": "registry.example/task:1"}]
    spec: Json = {"restartPolicy": "Never", "containers": containers}
    if node:
        spec["nodeName"] = node
    return {"metadata": {"name": name, "labels": labels}, "spec": spec}


def condition(kind: str, at: float, status: str = "False", reason: str = "", **more: str) -> Json:
    return {"type": kind, "status": status, "reason": reason, **more} | {
        "lastTransitionTime": moment(at)
    }


def ended(code: int, reason: str, at: float, name: str = "main", message: str = "") -> Json:
    end: Json = {"exitCode": code, "reason": reason, "finishedAt": moment(at)}
    end["startedAt"] = moment(at - 1)
    if message:
        end["message"] = message
    return {"name": name, "state": {"terminated": end}, "restartCount": 0, "ready": False} | {
        "image": "registry.example/task:1",
        "imageID": "",
    }


def waiting(reason: str, name: str = "main", message: str = "") -> Json:
    state = {"waiting": {"reason": reason, "message": message}}
    return {"name": name, "state": state, "restartCount": 0, "ready": False} | {
        "image": "registry.example/task:1",
        "imageID": "",
    }


def running(at: float) -> Json:
    main = {"name": "main", "state": {"running": {"startedAt": moment(at)}}, "restartCount": 0}
    main |= {"ready": True, "image": "registry.example/task:1", "imageID": ""}
    scheduled = condition("PodScheduled", at, "True")
    return {"phase": "Running", "startTime": moment(at), "containerStatuses": [main]} | {
        "conditions": [scheduled, condition("Ready", at, "True")]
    }


def failed(at: float, *containers: Json, reason: str = "", message: str = "") -> Json:
    status: Json = {"phase": "Failed", "conditions": [condition("Ready", at)]}
    status["containerStatuses"] = list(containers)
    return {**status, "reason": reason or None, "message": message or None}


def pending(at: float, *containers: Json, init: tuple[Json, ...] = ()) -> Json:
    conditions = [condition("PodScheduled", at, "True"), condition("ContainersReady", at)]
    status: Json = {"phase": "Pending", "startTime": moment(at), "conditions": conditions}
    return {**status, "containerStatuses": list(containers), "initContainerStatuses": list(init)}


def disrupted(at: float, reason: str) -> Json:
    return running(at) | {"conditions": [condition("DisruptionTarget", at, "True", reason)]}


@dataclass(frozen=True)
class Kind:
    """One way to end, and what is to be said about it."""

    name: str
    status: Callable[[float], Json]
    """The status to patch in, for a moment in time."""
    said: str
    reason: str
    terminated_reason: str | None = None
    exit_code: int | None = None
    deleted: bool = False
    """The pod is deleted afterwards."""
    node: str = "n1"


def _image(reason: str) -> Callable[[float], Json]:
    return lambda at: pending(at, waiting(reason, message="no such image"))


def _pod_reason(reason: str, message: str = "") -> Callable[[float], Json]:
    return lambda at: failed(at, reason=reason, message=message)


def _evicted(message: str) -> Callable[[float], Json]:
    return lambda at: failed(at, ended(137, "Error", at), reason="Evicted", message=message)


def _init(code: int, reason: str) -> Callable[[float], Json]:
    return lambda at: (
        failed(at, waiting("PodInitializing"))
        | {"initContainerStatuses": [ended(code, reason, at, "fetch")]}
    )


def _unschedulable(at: float) -> Json:
    why = "0/3 nodes are available: 3 Insufficient cpu."
    return {
        "phase": "Pending",
        "conditions": [condition("PodScheduled", at, "False", "Unschedulable", message=why)],
    }


_F, _C = "FAILED", "CANCELED"
FAILURES = (
    Kind("exit", lambda at: failed(at, ended(3, "Error", at)), _F, "Error", exit_code=3),
    Kind("oom", lambda at: failed(at, ended(137, "OOMKilled", at)), _F, "OOMKilled", None, 137),
    Kind("start", lambda at: failed(at, ended(128, "StartError", at)), _F, "StartError", None, 128),
    Kind("init", _init(2, "Error"), _F, "InitFailed"),
    Kind("init-oom", _init(137, "OOMKilled"), _F, "OOMKilled"),
    Kind(
        "init-image",
        lambda at: pending(at, init=(waiting("ErrImagePull", "fetch"),)),
        _F,
        "ErrImagePull",
    ),
    Kind("err-image", _image("ErrImagePull"), _F, "ErrImagePull"),
    Kind("image-back-off", _image("ImagePullBackOff"), _F, "ImagePullBackOff"),
    Kind("image-name", _image("InvalidImageName"), _F, "InvalidImageName"),
    Kind("config", _image("CreateContainerConfigError"), _F, "CreateContainerConfigError"),
    Kind("create", _image("CreateContainerError"), _F, "CreateContainerError"),
    Kind(
        "memory",
        _evicted("The node was low on resource: memory. Threshold quantity: 100Mi."),
        *(_F, "Evicted", "MemoryPressure", 137),
    ),
    Kind(
        "disk",
        _evicted("The node was low on resource: ephemeral-storage."),
        *(_F, "Evicted", "DiskPressure", 137),
    ),
    Kind(
        "pressure",
        _evicted("The node had condition: [PIDPressure]."),
        *(_F, "Evicted", "NodePressure", 137),
    ),
    Kind(
        "over-limit",
        _evicted("Pod ephemeral local storage usage exceeds the total limit of containers 1Gi."),
        *(_F, "Evicted", "OverLimit", 137),
    ),
    Kind("no-cpu", _pod_reason("OutOfcpu"), _F, "Evicted", "OutOfcpu"),
    Kind("no-memory", _pod_reason("OutOfmemory"), _F, "Evicted", "OutOfmemory"),
    Kind("deadline", _pod_reason("DeadlineExceeded", "active too long"), _F, "DeadlineExceeded"),
    Kind("shutdown", _pod_reason("Terminated"), _F, "NodeLost", "NodeShutdown"),
    Kind(
        "node-lost",
        lambda at: running(at) | {"reason": "NodeLost", "phase": "Unknown"},
        *(_F, "NodeLost", "NodeLost"),
    ),
    Kind(
        "node-unreachable",
        lambda at: disrupted(at, "DeletionByTaintManager"),
        *(_F, "NodeLost", "NodeLost"),
    ),
    Kind(
        "preempted",
        lambda at: disrupted(at, "PreemptionByScheduler"),
        *(_F, "Preempted", "Preempted", None, True),
    ),
    Kind(
        "drained",
        lambda at: disrupted(at, "EvictionByEvictionAPI"),
        *(_F, "Evicted", "EvictionByEvictionAPI", None, True),
    ),
    Kind("deleted", running, _C, "Deleted", "DeletedByUser", None, deleted=True),
    Kind("creating", lambda at: pending(at, waiting("ContainerCreating")), _F, "ContainerCreating"),
    Kind("unschedulable", _unschedulable, _F, "Unschedulable", node=""),
)
TIMED = frozenset({"creating", "unschedulable"})
"""These are only said after a deadline."""


def now() -> float:
    return float(int(time.time()))

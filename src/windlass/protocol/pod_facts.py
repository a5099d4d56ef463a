"""What is said about pods: labels that tie a pod to its task, and facts as they travel.

The envelope, the channel and the names of labels are FlowForge's. A fact is what somebody saw;
what it means for the task is decided elsewhere, once for each attempt.
"""

from typing import Literal

import msgspec

from windlass.model.pods import PodReason as PodReason
from windlass.model.pods import PodStatus as PodStatus

CHANNEL = "ff:events:task"
STREAM = "ff:stream:task"
STREAM_FIELD = "event"

WORKLOAD = "flowforge.io/workload"
TASK_ID = "flowforge.io/task-id"
WORKFLOW_ID = "flowforge.io/workflow-id"
TENANT_ID = "flowforge.io/tenant-id"
ATTEMPT = "flowforge.io/attempt"
TASK_NAME = "flowforge.io/task-name"
PROJECT_ID = "flowforge.io/project-id"
MANAGED_BY = "app.kubernetes.io/managed-by"
CREATED_AT = "flowforge.io/created-at"

MAIN = "main"
"""The container that does a pod's work; the others help it."""


class PodFact(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One observation of one pod."""

    task_id: str
    workflow_id: str
    status: PodStatus
    event_id: str
    """The same for everybody who sees the same transition of the same pod."""
    pod_uid: str
    pod_name: str
    namespace: str
    node: str | None
    reason: PodReason
    observed_at: float
    """When it was seen, in seconds of Unix time; the envelope says when it happened."""
    message: str | None = None
    exit_code: int | None = None
    tenant_id: str | None = None
    attempt: int | None = None
    terminated_reason: str | None = None
    """What ended a pod from outside: a pressure, a preemption, a node, a user."""


class Envelope(msgspec.Struct, frozen=True, kw_only=True):
    """A fact on its way."""

    type: Literal["task_status"] = "task_status"
    timestamp: int
    """Seconds of Unix time at which the transition happened."""
    data: PodFact

"""What was seen of a pod beside the events of its run: what it waited for, and what Kubernetes says
happened to it. One row of each kind for an attempt, written when it changes."""

from enum import StrEnum

import msgspec

from windlass.model.reasons import Reason
from windlass.model.rows import Json, Row

EVENTS_MAX = 30
"""Of Kubernetes' events of one pod, so many are kept: the most recent."""
REASONS_MAX = 20
"""Of what one pod has waited for, so many are kept: the last."""


class RecordKind(StrEnum):
    WAITS = "waits"
    EVENTS = "events"


class PodRecord(Row, frozen=True, kw_only=True):
    TABLE = "pod_records"
    KEY = ("attempt_id", "kind")
    # Several servers look at the same pods, and whoever looked last is right.
    UPSERT = True
    attempt_id: str
    kind: RecordKind
    run_id: str
    text: Json
    at: int


class PodWait(msgspec.Struct, frozen=True):
    """What a pod waited for, and since when somebody saw that."""

    at: int
    reason: Reason


class EventsState(StrEnum):
    """Whether Kubernetes told its events when it was asked last."""

    READ = "read"
    FORBIDDEN = "forbidden"


class KubeEvent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What Kubernetes says happened to a pod, once or several times."""

    type: str
    """`Normal` or `Warning`."""
    reason: str
    message: str
    source: str = ""
    """Which part of Kubernetes says so."""
    count: int = 1
    first_at: int
    last_at: int


class KubeEvents(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Kubernetes' events of a pod, the most recent last."""

    state: EventsState
    items: list[KubeEvent] = []
    older: int = 0
    """How many more there are, from before those."""

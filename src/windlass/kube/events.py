"""Kubernetes' own events of a pod: the parts that are read, and those that are alike as one.

An event is an object of its own (`core/v1`), kept by Kubernetes for an hour or so. Older parts of
it count an event that comes again (`count`, `firstTimestamp`, `lastTimestamp`), newer ones say when
it came (`eventTime`) and begin a `series`; either leaves out what the other has.
"""

from collections.abc import Iterable
from datetime import datetime

import msgspec

from windlass.kube.pods import ListMeta
from windlass.model.pod_records import EVENTS_MAX, EventsState, KubeEvent, KubeEvents

_REASON_CHARS = 128
_MESSAGE_CHARS = 1_024
"""As much as Kubernetes itself lets an event say."""


class _Part(msgspec.Struct, rename="camel", omit_defaults=True, frozen=True):
    pass


class EventMeta(_Part, frozen=True):
    creation_timestamp: datetime | None = None


class Source(_Part, frozen=True):
    component: str | None = None


class Series(_Part, frozen=True):
    count: int | None = None
    last_observed_time: datetime | None = None


class Event(_Part, frozen=True):
    metadata: EventMeta = EventMeta()
    type: str | None = None
    reason: str | None = None
    message: str | None = None
    source: Source | None = None
    reporting_component: str | None = None
    count: int | None = None
    first_timestamp: datetime | None = None
    last_timestamp: datetime | None = None
    event_time: datetime | None = None
    series: Series | None = None


class EventList(_Part, frozen=True):
    metadata: ListMeta = ListMeta()
    items: list[msgspec.Raw] = []


def gathered(events: Iterable[Event]) -> KubeEvents:
    """Events that say the same as one, in the order of when each came last; the most recent."""
    alike: dict[tuple[str, str, str], KubeEvent] = {}
    for event in events:
        found = read(event)
        key = (found.type, found.reason, found.message)
        before = alike.get(key)
        alike[key] = found if before is None else together(before, found)
    ordered = sorted(alike.values(), key=lambda one: (one.last_at, one.first_at, one.reason))
    kept = ordered[-EVENTS_MAX:]
    return KubeEvents(state=EventsState.READ, items=kept, older=len(ordered) - len(kept))


def read(event: Event) -> KubeEvent:
    series = event.series or Series()
    first = event.first_timestamp or event.event_time or event.metadata.creation_timestamp
    last = series.last_observed_time or event.last_timestamp or event.event_time or first
    source = event.source.component if event.source is not None else ""
    return KubeEvent(
        type=(event.type or "Normal")[:_REASON_CHARS],
        reason=(event.reason or "")[:_REASON_CHARS],
        message=(event.message or "")[:_MESSAGE_CHARS],
        source=(source or event.reporting_component or "")[:_REASON_CHARS],
        count=max(1, series.count or event.count or 1),
        first_at=_ms(first),
        last_at=_ms(last),
    )


def together(one: KubeEvent, other: KubeEvent) -> KubeEvent:
    return msgspec.structs.replace(
        one,
        count=one.count + other.count,
        first_at=min(one.first_at, other.first_at),
        last_at=max(one.last_at, other.last_at),
    )


def _ms(at: datetime | None) -> int:
    return 0 if at is None else int(at.timestamp() * 1000)

"""Kubernetes' events of a pod, as its parts write them (`core/v1`), gathered."""

from typing import Any

import msgspec

from windlass.kube.events import Event, gathered
from windlass.model.pod_records import EVENTS_MAX, KubeEvents

AT = 1_767_225_600_000
"""2026-01-01T00:00:00Z."""


def told(*events: dict[str, Any]) -> KubeEvents:
    return gathered(msgspec.convert(event, Event) for event in events)


def counted(reason: str, message: str = "", *, count: int = 1, minute: int = 0) -> dict[str, Any]:
    """An event as the kubelet writes it: counted, with a first and a last time."""
    first, last = "2026-01-01T00:00:00Z", f"2026-01-01T00:{minute:02}:00Z"
    return {
        "metadata": {"creationTimestamp": first},
        "type": "Warning",
        "reason": reason,
        "message": message,
        "source": {"component": "kubelet", "host": "n1"},
        "count": count,
        "firstTimestamp": first,
        "lastTimestamp": last,
        "eventTime": None,
    }


def test_an_event_that_came_again_is_one_with_its_count_and_both_times() -> None:
    [found] = told(counted("BackOff", "Back-off pulling image", count=7, minute=5)).items
    assert (found.type, found.reason, found.message) == (
        *("Warning", "BackOff"),
        "Back-off pulling image",
    )
    assert (found.count, found.source) == (7, "kubelet")
    assert (found.first_at, found.last_at) == (AT, AT + 300_000)


def test_an_event_with_a_series_has_its_count_and_last_time_from_there() -> None:
    """The scheduler writes `events.k8s.io/v1`: seen by `core/v1` its old fields are null."""
    event = {
        "metadata": {"creationTimestamp": "2026-01-01T00:00:01Z"},
        "type": "Warning",
        "reason": "FailedScheduling",
        "message": "0/3 nodes are available: 3 Insufficient cpu.",
        "source": {},
        "reportingComponent": "default-scheduler",
        "count": None,
        "firstTimestamp": None,
        "lastTimestamp": None,
        "eventTime": "2026-01-01T00:00:00.250000Z",
        "series": {"count": 4, "lastObservedTime": "2026-01-01T00:02:00.000000Z"},
    }
    [found] = told(event).items
    assert (found.count, found.source) == (4, "default-scheduler")
    assert (found.first_at, found.last_at) == (AT + 250, AT + 120_000)
    [alone] = told({**event, "series": None}).items
    assert (alone.count, alone.first_at, alone.last_at) == (1, AT + 250, AT + 250)


def test_objects_that_say_the_same_are_gathered_and_the_most_recent_comes_last() -> None:
    found = told(
        counted("BackOff", "again", count=2, minute=9),
        counted("Pulled", "there already", minute=1),
        counted("BackOff", "again", count=3, minute=4),
    )
    assert [(one.reason, one.count) for one in found.items] == [("Pulled", 1), ("BackOff", 5)]
    assert found.items[-1].last_at == AT + 9 * 60_000
    assert found.older == 0


def test_the_most_recent_are_kept_and_the_others_counted() -> None:
    found = told(*(counted("FailedMount", f"volume {n}", minute=n) for n in range(45)))
    assert len(found.items) == EVENTS_MAX
    assert found.older == 45 - EVENTS_MAX
    assert [one.message for one in found.items] == [f"volume {n}" for n in range(15, 45)]


def test_an_event_of_no_end_is_cut_and_one_that_says_nothing_is_one() -> None:
    [long] = told(counted("R" * 5_000, "m" * 50_000)).items
    assert (len(long.reason), len(long.message)) == (128, 1_024)
    [bare] = told({}).items
    assert (bare.type, bare.reason, bare.count, bare.last_at) == ("Normal", "", 1, 0)

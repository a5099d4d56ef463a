"""What is said about a pod, for every row of the table and every way we know a pod to end."""

from typing import Any

import msgspec
import pytest

from windlass.kube.interpret import (
    MESSAGE_MAX,
    Deadlines,
    Observation,
    gone,
    look_again_at,
    observe,
)
from windlass.kube.pods import Pod
from windlass.kube.table import TABLE, ReasonField, Row, eviction_cause
from windlass.testing.kube import kinds
from windlass.testing.kube.kinds import FAILURES, TIMED, Kind, moment

AT = 1_700_000_000.0
SOON = AT + 1


def pod(status: dict[str, Any], node: str = "n1", **metadata: Any) -> Pod:
    made = kinds.workload("p", "t", node=node)
    made["metadata"] |= {"uid": "u1", "creationTimestamp": moment(AT - 5), **metadata}
    # A merge patch takes nulls away.
    made["status"] = {key: value for key, value in status.items() if value is not None}
    return msgspec.json.decode(msgspec.json.encode(made), type=Pod)


def seen(found: Pod, now: float = SOON, deadlines: Deadlines | None = None) -> Observation:
    said = observe(found, now, deadlines or Deadlines())
    assert said is not None
    return said


def leaving(grace_s: int = 30) -> dict[str, Any]:
    """The marks of a pod whose deletion was asked for at `AT`."""
    gone_at = moment(AT + grace_s)
    return {"deletionTimestamp": gone_at, "deletionGracePeriodSeconds": grace_s}


def says(row: Row) -> tuple[Pod, float]:
    """A pod that says what a row is about, and when to look at it."""
    match row.place:
        case ReasonField.PHASE:
            return pod({"phase": row.says, "startTime": moment(AT)}), SOON
        case ReasonField.POD:
            return pod(kinds.failed(AT, reason=row.says)), SOON
        case ReasonField.ENDED:
            return pod(kinds.failed(AT, kinds.ended(1, row.says, AT))), SOON
        case ReasonField.WAITING:
            return pod(kinds.pending(AT, kinds.waiting(row.says))), SOON
        case ReasonField.DISRUPTION:
            status = kinds.disrupted(AT, row.says) if row.says else kinds.running(AT)
            return pod(status, **leaving(grace_s=0)), AT + 3600
        case ReasonField.DEADLINE if row.says == "Unschedulable":
            kind = next(kind for kind in FAILURES if kind.name == "unschedulable")
            return pod(kind.status(AT), node=""), AT + 3600
        case ReasonField.DEADLINE:
            return pod(kinds.pending(AT, kinds.waiting(row.says))), AT + 3600


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row.place}={row.says or 'none'}")
def test_every_row_of_the_table_is_found(row: Row) -> None:
    found, now = says(row)
    said = seen(found, now)
    assert (said.status, said.reason) == (row.status, row.reason)
    if row.says != "Evicted":
        assert said.terminated_reason == row.terminated_reason


@pytest.mark.parametrize("kind", FAILURES, ids=lambda kind: kind.name)
def test_every_kind_of_failure_is_told_apart(kind: Kind) -> None:
    found = pod(kind.status(AT), node=kind.node)
    said = gone(found, SOON) if kind.deleted else seen(found, AT + 3600)
    assert (said.status, said.reason) == (kind.said, kind.reason)
    assert (said.terminated_reason, said.exit_code) == (kind.terminated_reason, kind.exit_code)
    late = {"creating": 120, "unschedulable": 300}.get(kind.name, 1 if kind.deleted else 0)
    assert said.at == AT + late


@pytest.mark.parametrize("name", sorted(TIMED))
def test_what_may_take_time_is_said_when_its_deadline_has_passed(name: str) -> None:
    kind = next(kind for kind in FAILURES if kind.name == name)
    found = pod(kind.status(AT), node=kind.node)
    deadlines = Deadlines(unschedulable_s=7, creating_s=7)
    assert look_again_at(found, deadlines) == AT + 7
    assert observe(found, AT + 6.9, deadlines) is None
    assert seen(found, AT + 7, deadlines).reason == kind.reason


def test_pending_is_not_ours_to_say() -> None:
    assert observe(pod({"phase": "Pending"}, node=""), AT + 1e6, Deadlines()) is None
    gated = {"conditions": [kinds.condition("PodScheduled", AT, "False", "SchedulingGated")]}
    assert observe(pod({"phase": "Pending", **gated}, node=""), AT + 1e6, Deadlines()) is None


def test_an_init_container_may_take_its_time_and_then_main_has_its_own() -> None:
    fetching = {"name": "fetch", "state": {"running": {"startedAt": moment(AT)}}}
    main = kinds.waiting("PodInitializing")
    found = pod(kinds.pending(AT, main, init=(fetching,)))
    assert observe(found, AT + 1e6, Deadlines()) is None
    assert look_again_at(found, Deadlines()) is None
    fetched = kinds.ended(0, "Completed", AT + 500, "fetch")
    found = pod(kinds.pending(AT, main, init=(fetched,)))
    assert look_again_at(found, Deadlines(creating_s=10)) == AT + 510


def test_success_carries_the_exit_code_of_main_alone() -> None:
    side = kinds.ended(9, "Error", AT, "proxy")
    said = seen(pod({"phase": "Succeeded", "containerStatuses": [side]}))
    assert (said.status, said.exit_code) == ("SUCCEEDED", None)
    status = {"phase": "Succeeded", "containerStatuses": [side, kinds.ended(0, "Completed", AT)]}
    said = seen(pod(status))
    assert (said.exit_code, said.at, said.message) == (0, AT, "")


def test_the_message_is_mains_own_then_its_reason_then_the_pods() -> None:
    told = kinds.failed(AT, kinds.ended(1, "Error", AT, message="no rows"), message="pod")
    assert seen(pod(told)).message == "no rows"
    assert seen(pod(kinds.failed(AT, kinds.ended(1, "Error", AT), message="p"))).message == "Error"
    assert seen(pod(kinds.failed(AT, message="pod said so"))).message == "pod said so"
    endless = kinds.failed(AT, kinds.ended(1, "Error", AT, message="x" * 100_000))
    assert len(seen(pod(endless)).message) == MESSAGE_MAX


def test_an_init_failure_names_its_container_and_how_it_ended() -> None:
    kind = next(kind for kind in FAILURES if kind.name == "init")
    assert seen(pod(kind.status(AT))).message == 'init container "fetch" ended with 2: Error'


def test_a_program_that_stops_as_it_was_told_has_not_failed() -> None:
    stopped = kinds.failed(AT + 2, kinds.ended(143, "Error", AT + 2))
    said = seen(pod(stopped, **leaving()))
    assert (said.status, said.terminated_reason) == ("CANCELED", "DeletedByUser")
    assert said.exit_code == 143
    before = kinds.failed(AT - 9, kinds.ended(1, "Error", AT - 9))
    assert seen(pod(before, **leaving())).reason == "Error"


def test_a_failure_before_a_disruption_is_the_programs_own() -> None:
    own = kinds.failed(AT, kinds.ended(1, "Error", AT))
    own["conditions"].append(
        kinds.condition("DisruptionTarget", AT + 9, "True", "EvictionByEvictionAPI")
    )
    assert seen(pod(own)).reason == "Error"


def test_a_leaving_pod_runs_until_it_is_overdue() -> None:
    found = pod(kinds.running(AT), **leaving())
    assert seen(found, AT + 59).status == "RUNNING"
    assert look_again_at(found, Deadlines()) == AT + 60
    overdue = seen(found, AT + 60)
    assert (overdue.status, overdue.reason, overdue.at) == ("CANCELED", "Deleted", AT + 30)


def test_a_waiting_pod_that_is_to_go_is_not_called_stuck() -> None:
    status = kinds.pending(AT - 1000, kinds.waiting("ContainerCreating"))
    found = pod(status, **leaving(grace_s=30))
    assert observe(found, AT + 59, Deadlines()) is None
    assert seen(found, AT + 60).reason == "Deleted"


def test_a_pod_that_ended_and_is_then_deleted_ended() -> None:
    done = pod({"phase": "Succeeded", "containerStatuses": [kinds.ended(0, "Completed", AT)]})
    assert gone(done, SOON).status == "SUCCEEDED"


def test_a_pull_that_goes_to_and_fro_is_one_condition() -> None:
    first, second = (
        seen(pod(kinds.pending(AT, kinds.waiting(reason))))
        for reason in ("ErrImagePull", "ImagePullBackOff")
    )
    assert (first.condition, first.at) == (second.condition, second.at)


@pytest.mark.parametrize(
    ("message", "cause"),
    [
        ("The node had condition: [MemoryPressure]. ", "MemoryPressure"),
        ("The node had condition: [DiskPressure]. ", "DiskPressure"),
        ("The node was low on resource: inodes.", "DiskPressure"),
        ('Usage of EmptyDir volume "x" exceeds the limit "1Gi". ', "OverLimit"),
        ("Container main exceeded its local ephemeral storage limit", "OverLimit"),
        ("", "NodePressure"),
    ],
)
def test_an_eviction_has_a_cause(message: str, cause: str) -> None:
    assert eviction_cause(message) == cause


def test_an_empty_or_strange_pod_says_nothing() -> None:
    assert observe(Pod(), AT, Deadlines()) is None
    assert observe(pod({"phase": "Dreaming"}), AT, Deadlines()) is None

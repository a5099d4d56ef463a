"""Whatever a pod says, what is made of it is the same for everybody and at any time."""

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from windlass.kube.facts import event_id
from windlass.kube.interpret import Deadlines, gone, look_again_at, observe
from windlass.kube.pods import Pod
from windlass.kube.table import TABLE, ReasonField
from windlass.protocol.pod_facts import PodStatus
from windlass.testing.kube.kinds import moment

NOW = 1_700_000_000.0
LONG = 10_000_000.0
PHASES = ("Pending", "Running", "Succeeded", "Failed", "Unknown", "")
CONDITIONS = ("PodScheduled", "Ready", "ContainersReady", "DisruptionTarget")


def words(*places: ReasonField) -> st.SearchStrategy[str]:
    said = [row.says for row in TABLE if row.place in places]
    return st.sampled_from([*said, "", "ContainerCreating", "Whatever"])


moments = st.integers(0, 3600).map(lambda s: moment(NOW - s))
states = st.one_of(
    st.just(dict[str, Any]()),
    st.fixed_dictionaries(
        {"waiting": st.fixed_dictionaries({"reason": words(ReasonField.WAITING)})}
    ),
    st.fixed_dictionaries({"running": st.fixed_dictionaries({}, optional={"startedAt": moments})}),
    st.fixed_dictionaries(
        {
            "terminated": st.fixed_dictionaries(
                {"exitCode": st.integers(0, 255), "reason": words(ReasonField.ENDED)},
                optional={"finishedAt": moments, "message": st.text(max_size=5)},
            )
        }
    ),
)
containers = st.lists(
    st.fixed_dictionaries(
        {"name": st.sampled_from(["main", "side"]), "state": states},
        optional={"restartCount": st.integers(0, 3)},
    ),
    max_size=3,
)
conditions = st.lists(
    st.fixed_dictionaries(
        {
            "type": st.sampled_from(
                ["PodScheduled", "Ready", "ContainersReady", "DisruptionTarget"]
            ),
            "status": st.sampled_from(["True", "False"]),
            "reason": words(ReasonField.DISRUPTION, ReasonField.DEADLINE),
        },
        optional={"lastTransitionTime": moments},
    ),
    max_size=4,
)
pods = st.fixed_dictionaries(
    {
        "metadata": st.fixed_dictionaries(
            {"uid": st.just("u1"), "creationTimestamp": moments},
            optional={
                "deletionTimestamp": moments,
                "deletionGracePeriodSeconds": st.integers(0, 60),
            },
        ),
        "spec": st.fixed_dictionaries({}, optional={"nodeName": st.just("n1")}),
        "status": st.fixed_dictionaries(
            {
                "phase": st.sampled_from(
                    ["Pending", "Running", "Succeeded", "Failed", "Unknown", ""]
                ),
                "reason": words(ReasonField.POD),
                "containerStatuses": containers,
                "initContainerStatuses": containers,
                "conditions": conditions,
            },
            optional={"startTime": moments, "message": st.text(max_size=5)},
        ),
    }
).map(lambda found: msgspec.convert(found, Pod))


@given(pods)
def test_a_deadline_is_said_from_its_moment_on_and_never_before(pod: Pod) -> None:
    due = look_again_at(pod, Deadlines())
    early, late = observe(pod, 0.0, Deadlines()), observe(pod, NOW + LONG, Deadlines())
    if due is None or (early is not None and early.status is not PodStatus.RUNNING):
        assert early == late  # time changes nothing
    else:
        before = observe(pod, due - 0.001, Deadlines())
        assert before == early
        assert observe(pod, due, Deadlines()) is not None


@given(pods)
def test_whoever_looks_whenever_gives_a_transition_the_same_id(pod: Pod) -> None:
    ids = {
        event_id(pod, seen)
        for later in (LONG, 2 * LONG)
        if (seen := observe(pod, NOW + later, Deadlines())) is not None
    }
    assert len(ids) <= 1


@given(pods)
def test_a_pod_that_is_gone_has_ended_in_some_way(pod: Pod) -> None:
    end = gone(pod, NOW)
    assert end.status in (PodStatus.SUCCEEDED, PodStatus.FAILED, PodStatus.CANCELED)
    assert end.status is not PodStatus.CANCELED or end.terminated_reason == "DeletedByUser"

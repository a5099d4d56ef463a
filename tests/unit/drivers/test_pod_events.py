"""When Kubernetes is asked for its events of a pod, and what is kept of the answer."""

from typing import Any

import pytest

from windlass.drivers.dispatch.pod_events import PodEvents, Waiting
from windlass.kube.api import KubeRefused
from windlass.model.pod_records import EventsState, KubeEvent, KubeEvents
from windlass.model.reasons import Reason, ReasonCode, ReasonValues

pytestmark = pytest.mark.anyio
NO_ROOM = Reason(ReasonCode.POD_UNSCHEDULED, ReasonValues(message="0/3 nodes are available"))
PULLING = Reason(ReasonCode.POD_CONTAINER, ReasonValues(place="n1", cause="ImagePullBackOff"))


def one_event(message: str) -> KubeEvents:
    event = KubeEvent(type="Normal", reason="X", message=message, first_at=1, last_at=2)
    return KubeEvents(state=EventsState.READ, items=[event])


class Cluster:
    """Answers with what a test says, and keeps what it is told to keep."""

    def __init__(self) -> None:
        self.answer: KubeEvents | Exception = one_event("a")
        self.asked: list[str] = []
        self.kept: list[tuple[str, KubeEvents]] = []

    async def events(self, pod: str, uid: str) -> KubeEvents:
        self.asked.append(uid)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    async def keep_events(self, attempt_id: str, events: KubeEvents) -> None:
        self.kept.append((attempt_id, events))


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


@pytest.fixture
def events(cluster: Cluster) -> PodEvents:
    both: Any = cluster
    return PodEvents(both, both)


def waiting(*attempts: str, reason: Reason = NO_ROOM) -> dict[str, Waiting]:
    return {attempt: Waiting(f"ns/{attempt}", f"uid-{attempt}", reason) for attempt in attempts}


async def look(events: PodEvents, found: dict[str, Waiting], now: float) -> list[str]:
    due = events.due(found, now)
    for attempt in due:
        await events.ask(attempt, found[attempt], now)
    return due


async def test_a_pod_is_asked_about_again_when_it_waits_for_something_else_or_after_a_while(
    events: PodEvents, cluster: Cluster
) -> None:
    assert await look(events, waiting("a"), 0) == ["a"]
    assert await look(events, waiting("a"), 5) == []
    assert await look(events, waiting("a", reason=PULLING), 6) == ["a"]
    assert await look(events, waiting("a", reason=PULLING), 20.9) == []
    assert await look(events, waiting("a", reason=PULLING), 21) == ["a"]
    assert [attempt for attempt, _ in cluster.kept] == ["a"], "the same is kept once"
    cluster.answer = one_event("b")
    assert await look(events, waiting("a", reason=PULLING), 40) == ["a"]
    assert cluster.kept[-1] == ("a", one_event("b"))


async def test_of_many_that_wait_each_look_asks_about_some_until_all_had_their_turn(
    events: PodEvents, cluster: Cluster
) -> None:
    found = waiting(*(f"a{n:02}" for n in range(50)))
    looks = [await look(events, found, float(n)) for n in range(4)]
    assert [len(due) for due in looks] == [20, 20, 10, 0]
    assert {attempt for due in looks for attempt in due} == set(found)
    newcomer = {**found, **waiting("zz")}
    assert (await look(events, newcomer, 16.0))[0] == "zz"


async def test_that_they_may_not_be_read_is_kept_and_nobody_is_asked_for_a_while(
    events: PodEvents, cluster: Cluster
) -> None:
    cluster.answer = KubeRefused(403, "events is forbidden")
    await look(events, waiting("a", "b"), 0)
    assert [(attempt, told.state) for attempt, told in cluster.kept] == [
        *(("a", "forbidden"), ("b", "forbidden"))
    ]
    assert cluster.asked == ["uid-a"]
    await look(events, waiting("a", "b"), 100)
    assert (len(cluster.asked), len(cluster.kept)) == (1, 2)
    cluster.answer = one_event("granted since")
    await look(events, waiting("a", "b"), 301)
    assert cluster.kept[2:] == [("a", cluster.answer), ("b", cluster.answer)]


async def test_what_was_kept_stays_when_there_is_no_answer(
    events: PodEvents, cluster: Cluster
) -> None:
    await look(events, waiting("a"), 0)
    for trouble in (KubeRefused(429, "later"), KubeRefused(500, "oh")):
        cluster.answer = trouble
        await look(events, waiting("a", reason=PULLING), 20)
        await events.last("a", "ns/a", "uid-a", 30)
    cluster.answer = KubeRefused(403, "no more")
    await events.last("a", "ns/a", "uid-a", 30)
    assert len(cluster.kept) == 1

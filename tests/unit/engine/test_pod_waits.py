"""What pods have waited for is kept while it changes, and not without bound."""

from windlass.engine import pod_waits
from windlass.engine.pod_waits import PodWaits
from windlass.model.reasons import Reason, ReasonCode, ReasonValues


def reason(message: str) -> Reason:
    return Reason(ReasonCode.POD_UNSCHEDULED, ReasonValues(message=message))


def test_a_reason_is_kept_once_for_as_long_as_it_stays_the_same() -> None:
    waits = PodWaits()
    waits.note({"a": reason("no cpu")}, 1)
    waits.note({"a": reason("no cpu"), "b": reason("no gpu")}, 2)
    waits.note({"a": reason("no memory")}, 3)
    assert waits.of("a") == [(1, reason("no cpu")), (3, reason("no memory"))]
    assert waits.of("b") == [(2, reason("no gpu"))]
    assert waits.of("c") == []


def test_of_many_reasons_and_many_pods_the_newest_are_kept() -> None:
    waits = PodWaits()
    for at in range(100):
        waits.note({"a": reason(str(at))}, at)
    assert len(waits.of("a")) < 100
    assert waits.of("a")[-1] == (99, reason("99"))
    waits.note({f"p{at}": reason("") for at in range(pod_waits.ATTEMPTS_MAX)}, 200)
    assert waits.of("a") == []
    assert waits.of("p0")

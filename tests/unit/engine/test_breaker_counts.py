"""What a breaker counts, and what says nothing of a service."""

import pytest

from windlass.engine.limits.breaker import Breaker, state_of
from windlass.model.limits import Limit, LimitUse
from windlass.model.rows import Attempt, Failure
from windlass.model.states import AttemptState


def ended(kind: str = "", retry_after_ms: int | None = None) -> Attempt:
    error = Failure(kind, "no", retry_after_ms=retry_after_ms).json() if kind else None
    return Attempt(
        id="r~a.0@1",
        task_id="r~a.0",
        run_id="r",
        number=1,
        state=AttemptState.FAILED if kind else AttemptState.SUCCEEDED,
        queue="pull:pay",
        worker_id="w",
        lease_until=1,
        claimed_at=1,
        error=error,
    )


def breaker(trip_after: int = 2) -> Breaker:
    found = Breaker(LimitUse(id="default service:pay", tenant="default", key="service:pay"))
    found.allow(Limit("service:pay", trip_after=trip_after, reset_ms=1000))
    return found


@pytest.mark.parametrize("kind", ["failed", "timeout", "unreachable"])
def test_what_is_against_the_service_counts(kind: str) -> None:
    found = breaker()
    assert [found.ended(ended(kind)) for _ in range(2)] == [False, True]
    assert found.tripped


@pytest.mark.parametrize("kind", ["fatal", "lost", "cancelled", "returned"])
def test_what_is_about_the_work_or_the_worker_does_not(kind: str) -> None:
    found = breaker(1)
    assert not found.ended(ended(kind))
    assert not found.ended(ended("failed", retry_after_ms=500)), "it has only pushed back"
    assert not found.tripped


def test_a_trial_opens_it_again_or_closes_it() -> None:
    found = breaker(3)
    for _ in range(3):
        found.ended(ended("failed"))
    assert found.ended(ended("failed")), "half-open, one failure is enough"
    assert not found.ended(ended())
    assert not found.tripped
    assert found.failures == 0
    assert not found.ended(ended("failed"))


def test_the_state_is_told_by_the_row_and_the_time() -> None:
    use = LimitUse(id="default k", tenant="default", key="k", trip_after=1, tripped=1)
    assert state_of(use, 5) == "half_open"
    opened = LimitUse(
        id="default k", tenant="default", key="k", trip_after=1, tripped=1, paused_until=9
    )
    assert state_of(opened, 5) == "open"
    assert state_of(LimitUse(id="default k", tenant="default", key="k"), 5) == ""

"""A rate: how many begin in any span, in the long run, and who may make up for what."""

import random
from bisect import bisect_right

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from windlass.engine.limits import bucket
from windlass.model.limits import Limit, LimitUse


def use(rate: int, per_ms: int = 1000, burst: int = 1) -> LimitUse:
    blank = LimitUse(id="default k", tenant="default", key="k")
    return bucket.allow(blank, Limit("k", None, rate, per_ms, burst))


def most_in(times: list[int], span_ms: int) -> int:
    ordered = sorted(times)
    return max(bisect_right(ordered, at + span_ms) - n for n, at in enumerate(ordered))


def test_after_a_pause_as_many_begin_at_once_as_the_burst_says() -> None:
    for burst in (1, 4):
        key = use(50, burst=burst)
        assert bucket.tokens(key, 10_000, late_ms=0) == burst
        for _ in range(burst):
            key = bucket.taken(key, 10_000, late_ms=0)
        assert bucket.tokens(key, 10_000, late_ms=0) == 0
        assert bucket.next_at(key, 10_000) == 10_020


def test_who_was_kept_waiting_makes_up_for_it_and_who_was_idle_does_not() -> None:
    key = bucket.taken(use(50), 10_000, late_ms=0)
    assert bucket.tokens(key, 10_100, late_ms=80) == 5
    assert bucket.tokens(key, 10_100, late_ms=0) == 1


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 80), st.integers(1, 5), st.integers(0, 2**32), st.sampled_from([200, 1000]))
def test_no_span_sees_more_than_the_rate_and_the_burst_however_late_and_askew(
    rate: int, burst: int, seed: int, per_ms: int
) -> None:
    """Commits come late by any time, and from processes whose clocks differ."""
    draw = random.Random(seed)
    key, clock, times = use(rate, per_ms, burst), 1_000_000, list[int]()
    for _ in range(300):
        clock += draw.choice((0, 1, 3, 20, 90, 400))
        now = clock - draw.choice((0, 0, 5, 40))
        late = draw.choice((0, 10, 100, 5000))
        for _ in range(bucket.tokens(key, now, late_ms=late)):
            key = bucket.taken(key, now, late_ms=late)
            times.append(now)
        at = bucket.next_at(key, now)
        assert at is not None
        assert bucket.tokens(key, at, late_ms=0) > 0
    assert most_in(times, per_ms) <= rate + burst


def test_a_rate_is_used_up_although_every_commit_is_late() -> None:
    draw = random.Random(7)
    key, times, now = use(50), list[int](), 0
    while now < 60_000:
        at = bucket.next_at(key, now)
        assert at is not None
        key = replace(key, parked=9, wake_at=at)
        now = at + draw.choice((0, 2, 8, 30, 120))
        late = bucket.late_ms(key, now)
        for _ in range(bucket.tokens(key, now, late_ms=late)):
            key = bucket.taken(key, now, late_ms=late)
            times.append(now)
    assert most_in(times, 1000) <= 51
    assert len(times) >= 0.97 * 50 * 60


def test_a_pause_and_a_full_key_are_told_apart() -> None:
    key = bucket.allow(use(0), Limit("k", 1))
    assert bucket.room(key, 0, late_ms=0) == 1
    full = bucket.taken(key, 0, late_ms=0)
    assert bucket.room(full, 0, late_ms=0) == 0
    assert bucket.next_at(full, 0) is None
    assert bucket.room(bucket.given_back(full), 0, late_ms=0) == 1

"""A rate: how many begin in any span, in the long run, and who may make up for what."""

import random
from bisect import bisect_right

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from windlass.engine.limits.bucket import Bucket
from windlass.model.limits import Limit, LimitUse

BLANK = LimitUse(id="default k", tenant="default", key="k")


def use(rate: int, per_ms: int = 1000, burst: int = 1) -> LimitUse:
    bucket = Bucket(BLANK, 0)
    bucket.allow(Limit("k", None, rate, per_ms, burst))
    return bucket.row(None)


def most_in(times: list[int], span_ms: int) -> int:
    ordered = sorted(times)
    return max(bisect_right(ordered, at + span_ms) - n for n, at in enumerate(ordered))


def take_all(row: LimitUse, now: int) -> tuple[LimitUse, int]:
    """The row once everything is taken that is to be had, and how much that was."""
    bucket = Bucket(row, now)
    count = bucket.tokens
    for _ in range(count):
        bucket.take()
    assert bucket.tokens == 0
    return bucket.row(bucket.next_at()), count


def test_after_a_pause_as_many_begin_at_once_as_the_burst_says() -> None:
    for burst in (1, 4):
        row, count = take_all(use(50, burst=burst), 10_000)
        assert (count, row.wake_at) == (burst, 10_020)


def test_who_was_kept_waiting_makes_up_for_it_and_who_was_idle_does_not() -> None:
    row, _ = take_all(use(50), 10_000)
    assert Bucket(replace(row, parked=9), 10_100).tokens == 5
    assert Bucket(row, 10_100).tokens == 1
    assert Bucket(replace(row, parked=9, wake_at=None), 10_100).tokens == 1


@settings(max_examples=50)
@given(st.integers(1, 80), st.integers(1, 5), st.integers(0, 2**32), st.sampled_from([200, 1000]))
def test_no_span_sees_more_than_the_rate_and_the_burst_however_late_and_askew(
    rate: int, burst: int, seed: int, per_ms: int
) -> None:
    """Commits come late by any time, and from processes whose clocks differ."""
    draw = random.Random(seed)
    row, clock, times = use(rate, per_ms, burst), 1_000_000, list[int]()
    for _ in range(300):
        clock += draw.choice((0, 1, 3, 20, 90, 400))
        now = clock - draw.choice((0, 0, 5, 40))
        row, count = take_all(replace(row, parked=draw.choice((0, 9))), now)
        times += [now] * count
        assert row.wake_at is not None
        assert Bucket(row, row.wake_at).tokens > 0
    assert most_in(times, per_ms) <= rate + burst


def test_a_rate_is_used_up_although_every_commit_is_late() -> None:
    draw = random.Random(7)
    row, times, now = replace(use(50), wake_at=0), list[int](), 0
    while now < 60_000:
        assert row.wake_at is not None
        now = row.wake_at + draw.choice((0, 2, 8, 30, 120))
        row, count = take_all(replace(row, parked=9), now)
        times += [now] * count
    assert most_in(times, 1000) <= 51
    assert len(times) >= 0.97 * 50 * 60


def test_a_pause_and_a_full_key_are_told_apart() -> None:
    bucket = Bucket(BLANK, 0)
    bucket.allow(Limit("k", 1))
    assert bucket.room == 1
    bucket.take()
    assert bucket.room == 0
    assert bucket.next_at() is None
    bucket.give_back()
    bucket.pause(500)
    assert bucket.room == 0
    assert bucket.next_at() == 500

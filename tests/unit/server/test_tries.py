"""Whoever guesses has to wait; whoever knows does not."""

import pytest

from windlass.server.http import TooMany, problem
from windlass.server.tries import Tries


def test_tries_are_bounded_within_the_window_and_free_after_it() -> None:
    tries = Tries(2, window_s=60)
    tries.take("a", 0)
    tries.take("a", 1_000)
    with pytest.raises(TooMany) as refused:
        tries.take("a", 20_000)
    assert refused.value.retry_after_s == 40
    assert problem(refused.value).headers["Retry-After"] == "40"
    tries.take("b", 20_000)
    tries.take("a", 60_000)


def test_what_is_remembered_of_a_stranger_is_short() -> None:
    tries = Tries(1)
    tries.take("x" * 1_000_000, 0)
    assert [len(key) for key in tries._began] == [300]
    tries.give_back("x" * 1_000_000)
    tries.take("x" * 1_000_000, 0)
    tries.forgive("x" * 1_000_000)
    assert not tries._began


def test_a_success_forgives_and_a_try_that_was_none_is_given_back() -> None:
    tries = Tries(1)
    tries.take("a", 0)
    tries.forgive("a")
    tries.take("a", 0)
    tries.give_back("a")
    tries.take("a", 0)
    tries.give_back("nobody")
    with pytest.raises(TooMany):
        tries.take("a", 0)


def test_strangers_are_forgotten_before_memory_runs_out() -> None:
    tries = Tries(1)
    for number in range(10_500):
        tries.take(str(number), 0)
    tries.take("0", 0)
    with pytest.raises(TooMany):
        tries.take("10499", 0)

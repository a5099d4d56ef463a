"""Whoever guesses has to wait; whoever knows does not."""

import pytest

from windlass.server.http import TooMany, problem
from windlass.server.login_limiter import LoginLimiter, TryCounter


def test_tries_are_bounded_within_the_window_and_free_after_it() -> None:
    tries = TryCounter(2, window_s=60)
    tries.take("a", 0)
    tries.take("a", 1_000)
    with pytest.raises(TooMany) as refused:
        tries.take("a", 20_000)
    assert refused.value.retry_after_s == 40
    assert problem(refused.value).headers["Retry-After"] == "40"
    tries.take("b", 20_000)
    tries.take("a", 60_000)


def test_what_is_remembered_of_a_stranger_is_short() -> None:
    tries = TryCounter(1)
    tries.take("x" * 1_000_000, 0)
    assert [len(key) for key in tries._began] == [300]
    tries.give_back("x" * 1_000_000)
    tries.take("x" * 1_000_000, 0)
    tries.forgive("x" * 1_000_000)
    assert not tries._began


def test_a_success_forgives_and_a_try_that_was_none_is_given_back() -> None:
    tries = TryCounter(1)
    tries.take("a", 0)
    tries.forgive("a")
    tries.take("a", 0)
    tries.give_back("a")
    tries.take("a", 0)
    tries.give_back("nobody")
    with pytest.raises(TooMany):
        tries.take("a", 0)


def test_strangers_are_forgotten_before_memory_runs_out() -> None:
    tries = TryCounter(1)
    for number in range(10_500):
        tries.take(str(number), 0)
    tries.take("0", 0)
    with pytest.raises(TooMany):
        tries.take("10499", 0)


def tries_until_held(limiter: LoginLimiter, logins: list[tuple[str, str]]) -> int:
    """How many of these are taken."""
    for number, (user, address) in enumerate(logins):
        try:
            limiter.take_login(user, address, 0)
        except TooMany:
            return number
    return len(logins)


def test_one_user_from_many_addresses_and_many_users_from_one_are_bounded() -> None:
    spread = [("ada", f"10.0.{n // 250}.{n % 250}") for n in range(500)]
    assert tries_until_held(LoginLimiter(3), spread) == 30
    spray = [(f"user-{n}", "10.0.0.1") for n in range(500)]
    assert tries_until_held(LoginLimiter(3), spray) == 30
    one = [("ada", "10.0.0.1")] * 10
    assert tries_until_held(LoginLimiter(3), one) == 3


def test_all_addresses_of_an_ipv6_network_are_one() -> None:
    hops = [("ada", f"2001:db8::{n:x}") for n in range(10)]
    assert tries_until_held(LoginLimiter(3), hops) == 3
    mapped = [("ada", "10.0.0.1"), ("ada", "::ffff:10.0.0.1")] * 3
    assert tries_until_held(LoginLimiter(3), mapped) == 3
    assert tries_until_held(LoginLimiter(3), [("ada", "a socket"), ("ada", "")] * 3) == 6


def test_signing_in_takes_back_what_was_counted() -> None:
    limiter = LoginLimiter(1)
    for _ in range(50):
        limiter.take_login("ada", "10.0.0.1", 0)
        limiter.signed_in("ada", "10.0.0.1")
    for _ in range(50):
        limiter.take_change("id", 0)
        limiter.changed("id")
    limiter.take_change("id", 0)
    with pytest.raises(TooMany):
        limiter.take_change("id", 0)

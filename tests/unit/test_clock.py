"""Time goes on whatever the wall clock does."""

from windlass.drivers.sql.clock import SteadyClock


class Hands:
    """A wall clock and a monotonic one, both moved by the test."""

    def __init__(self) -> None:
        self.wall = 1_000_000
        self.steady = 50
        self.clock = SteadyClock(lambda: self.wall, lambda: self.steady)

    def pass_ms(self, span: int) -> int:
        self.wall += span
        self.steady += span
        return self.clock.now()


def test_it_follows_the_wall_clock_forwards() -> None:
    hands = Hands()
    assert hands.pass_ms(10) == 1_000_010
    hands.wall += 3_600_000
    assert hands.clock.now() == 4_600_010


def test_set_back_by_an_hour_it_goes_on_at_the_same_pace() -> None:
    hands = Hands()
    hands.clock.now()
    hands.wall -= 3_600_000
    assert hands.pass_ms(500) == 1_000_500
    assert hands.pass_ms(500) == 1_001_000
    hands.wall += 3_600_000
    assert hands.clock.now() == 1_001_000, "the wall clock is right again"
    assert hands.pass_ms(7) == 1_001_007


def test_a_small_correction_is_followed_without_going_backwards() -> None:
    hands = Hands()
    hands.pass_ms(1_000)
    hands.wall -= 300
    assert hands.clock.now() == 1_001_000
    assert hands.pass_ms(300) == 1_001_000
    assert hands.pass_ms(1) == 1_001_001


def test_a_process_that_begins_after_the_clock_was_set_back_goes_on_from_what_was_stored() -> None:
    hands = Hands()
    hands.clock.not_before(1_000_000 + 3_600_000)
    assert hands.pass_ms(5) == 4_600_005
    later = Hands()
    later.clock.not_before(None)
    later.clock.not_before(999)
    assert later.pass_ms(1) == 1_000_001


def test_a_clock_that_was_set_back_by_years_is_carried_on_as_well() -> None:
    hands = Hands()
    stored = 1_000_000 + 20 * 365 * 24 * 3_600_000
    hands.clock.not_before(stored)
    assert hands.pass_ms(5) == stored + 5, "as after a battery went flat: timers are due by it"

"""A short storm over two servers; `python -m tests.chaos.two_servers` has 1,000 runs."""

import pytest

from tests.chaos.two_servers import storm


@pytest.mark.timeout(300)
def test_nothing_is_stale_lost_or_untold_while_two_servers_are_killed_in_turn() -> None:
    report = storm(runs=60, seed=9, kills=8)
    assert report["problems"] == [], report
    assert report["late_most_ms"] < 1000, report
    assert report["kills"] >= 4, report
    assert report["events_watched"] >= 30, report
    assert set(report["kinds"]) == {"held", "packed", "large", "chain"}, report

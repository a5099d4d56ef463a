"""A short storm; `make chaos` is the long one."""

import pytest

from tests.chaos.run import CALM_S, rage


@pytest.mark.timeout(240)
def test_a_short_storm_loses_nothing_and_accepts_nothing_twice() -> None:
    report = rage(seconds=25, runs=150, seed=7)
    assert report["problems"] == []
    assert report["calm_after_s"] < CALM_S
    # Restate's lesson: a run in which every call failed would pass trivially.
    assert report["runs"] >= 50
    assert sum(report["harm"].values()) >= 5

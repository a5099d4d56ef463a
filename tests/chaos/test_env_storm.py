"""A short storm over environments; `python -m tests.chaos.env_storm` is the long one."""

import shutil

import pytest

from tests.chaos.env_storm import CHROMIUM, rage
from windlass.testing import podman


@pytest.mark.timeout(400)
def test_a_short_storm_leaks_no_place_and_lets_no_stale_holder_write() -> None:
    lacking = podman.missing()
    if lacking or shutil.which(CHROMIUM) is None:
        pytest.skip(lacking or "needs Chromium")
    report = rage(leases=50, seed=7, seconds=60)
    assert report["problems"] == [], report
    assert report["leases"] >= 10, report
    assert sum(report["harm"].values()) >= 5, report

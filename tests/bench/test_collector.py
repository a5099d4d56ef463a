"""A small slice of the collector's benchmark: it stays small and close behind."""

from pathlib import Path

import pytest

from windlass.testing.bench.collector import LAG_P95_MAX_S, MEMORY_MAX_MIB, measure


@pytest.mark.redis
def test_a_collector_is_small_and_close_behind(tmp_path: Path) -> None:
    found = measure(pods=1_000, rate=400, folder=tmp_path)
    print(found)
    assert found["rss_peak_mib"] < MEMORY_MAX_MIB
    # The aim is a second at more than twice the rate, with nothing else to do.
    assert found["lag_p95_s"] < 3 * LAG_P95_MAX_S

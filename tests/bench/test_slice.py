"""The engine has not become slower, next to what the machine itself does in the same run.

The baseline holds the lowest ratios seen on a busy machine of two cores, so that a neighbour's load
does not fail the test and a change that costs a quarter of the speed does.
"""

from pathlib import Path

import pytest

from windlass.testing.bench.main import main

BASELINE = Path(__file__).with_name("baseline.json")


@pytest.mark.timeout(600)
def test_no_ratio_fell_by_a_quarter(tmp_path: Path) -> None:
    report = tmp_path / "bench.json"
    arguments = ["--quick", "--best-of", "3", "--json", str(report), "--check", str(BASELINE)]
    assert main(arguments) == 0

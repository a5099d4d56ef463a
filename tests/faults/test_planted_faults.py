"""The simulator finds faults: they are planted one at a time, and each must come to light."""

import multiprocessing
import os
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from typing import cast

import pytest

from tests.faults.hunting import SEEDS_MAX, Found, hunt
from tests.faults.planted import FAULTS, Fault
from windlass.testing.simulator import plan_for, simulate

Hunts = dict[str, "Future[Found | None]"]


@pytest.fixture(scope="module")
def hunts(request: pytest.FixtureRequest) -> Iterator[Hunts]:
    """All that are asked for, side by side; what a process has planted ends with it."""
    items = [item for item in request.session.items if isinstance(item, pytest.Function)]
    params = [item.callspec.params for item in items if hasattr(item, "callspec")]
    names = [cast(Fault, given["planted"]).name for given in params if "planted" in given]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(os.cpu_count(), context) as pool:
        yield {name: pool.submit(hunt, name) for name in names}
        pool.shutdown(cancel_futures=True)


def test_there_are_enough_of_them() -> None:
    assert len({planted.name for planted in FAULTS}) >= 20


@pytest.mark.timeout(300)  # they give way to tests that run beside them
@pytest.mark.parametrize("planted", FAULTS, ids=lambda planted: planted.name)
def test_the_simulator_finds(planted: Fault, hunts: Hunts) -> None:
    found = hunts[planted.name].result()
    assert found is not None, f"not found in {SEEDS_MAX} seeds: {planted.sentence}"
    assert found.told or "not there" in found.problem
    print(f"{planted.sentence}: seed {found.seed}: {found.problem:.200}")


def test_a_world_without_faults_shows_none() -> None:
    assert not simulate(plan_for(0)).problem

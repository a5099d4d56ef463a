"""The simulator finds faults: they are planted one at a time, and each must come to light."""

import pytest

from tests.faults import (
    planted_budgets,
    planted_letters,
    planted_limits,
    planted_plans,
    planted_steering,
    planted_verdicts,
)
from tests.faults.planted import FAULTS, Fault
from windlass.testing.simulator import Outcome, plan_for, simulate

SEEDS_MAX = 400
MORE = (
    planted_budgets,
    planted_letters,
    planted_limits,
    planted_plans,
    planted_steering,
    planted_verdicts,
)
"""Imported for what they plant."""


def hunt(planted: Fault) -> Outcome | None:
    """The first world that shows the fault."""
    with pytest.MonkeyPatch.context() as patch:
        planted.plant(patch)
        for seed in range(planted.first, planted.first + SEEDS_MAX):
            outcome = simulate(plan_for(seed))
            if outcome.problem:
                return outcome
    return None


def test_there_are_enough_of_them() -> None:
    assert len({planted.name for planted in FAULTS}) >= 20


@pytest.mark.parametrize("planted", FAULTS, ids=lambda planted: planted.name)
def test_the_simulator_finds(planted: Fault) -> None:
    outcome = hunt(planted)
    assert outcome is not None, f"not found in {SEEDS_MAX} seeds: {planted.sentence}"
    assert outcome.trace or "not there" in outcome.problem
    print(f"{planted.sentence}: seed {outcome.plan.seed}: {outcome.problem:.200}")


def test_a_fault_does_not_outlive_its_hunt() -> None:
    assert not simulate(plan_for(0)).problem

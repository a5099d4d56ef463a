"""Looking for a planted fault in simulated worlds, in a process of its own."""

from itertools import count, islice
from typing import NamedTuple

import pytest

from tests.faults import (
    planted_budgets,
    planted_envs,
    planted_ledger,
    planted_letters,
    planted_limits,
    planted_plans,
    planted_pods,
    planted_quotas,
    planted_steering,
    planted_verdicts,
)
from tests.faults.planted import FAULTS
from windlass.testing.simulator import plan_for, simulate

SEEDS_MAX = 400
MORE = (
    planted_budgets,
    planted_envs,
    planted_letters,
    planted_limits,
    planted_plans,
    planted_quotas,
    planted_pods,
    planted_ledger,
    planted_steering,
    planted_verdicts,
)
"""Imported for what they plant."""


class Found(NamedTuple):
    """The first world that showed a fault."""

    seed: int
    problem: str
    told: bool
    """Whether it comes with what happened before."""


def hunt(name: str) -> Found | None:
    planted = next(fault for fault in FAULTS if fault.name == name)
    with pytest.MonkeyPatch.context() as patch:
        planted.plant(patch)
        worlds = (seed for seed in count(planted.first) if planted.needs <= plan_for(seed).faults)
        for seed in islice(worlds, SEEDS_MAX):
            outcome = simulate(plan_for(seed))
            if outcome.problem:
                return Found(seed, outcome.problem, bool(outcome.trace))
    return None

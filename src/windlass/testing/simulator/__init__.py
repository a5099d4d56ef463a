"""A seeded simulator: the real kernel and engine in a world of faults, under virtual time.

A seed decides everything: the flows, what their handlers do, when processes crash, pause and
restart, what the network loses, repeats and reorders, how the database fails. After every commit
the invariants are checked; a seed that breaks one repeats exactly. `python -m
windlass.testing.simulator --seeds 200` runs some, `--seed N` one of them.
"""

from windlass.testing.simulator.plan import Plan, plan_for
from windlass.testing.simulator.world import Outcome, simulate

__all__ = ["Outcome", "Plan", "plan_for", "simulate"]

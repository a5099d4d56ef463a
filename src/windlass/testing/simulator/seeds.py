"""Many worlds, one for each seed, in processes of their own."""

from collections.abc import Iterable, Iterator
from multiprocessing import get_context

from windlass.testing.simulator.plan import plan_for
from windlass.testing.simulator.world import Outcome, simulate

_CHUNK = 20
_CHUNKS_OF_A_PROCESS = 20
"""A world leaves some two megabytes behind, so a process makes a few hundred of them and ends."""


def outcomes(seeds: Iterable[int], jobs: int) -> Iterator[Outcome]:
    """How the worlds of these seeds ended, in their order; so many are made at a time."""
    # An executor of `concurrent.futures` stops for good in Python 3.11 when its processes end.
    with get_context("spawn").Pool(jobs, maxtasksperchild=_CHUNKS_OF_A_PROCESS) as pool:
        yield from pool.imap(run_seed, seeds, chunksize=_CHUNK)


def run_seed(seed: int) -> Outcome:
    return simulate(plan_for(seed))

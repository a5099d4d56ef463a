"""The engine keeps its promises in simulated worlds.

The seeds are fixed: what the gate says of a commit must not depend on luck. Fresh ones are hunted
with `make simulate`, and what they find gets a test of its own.
"""

import os
import subprocess
import sys

import pytest

from windlass.testing.simulator import plan_for, simulate
from windlass.testing.simulator.shrink import command, shrink

FIXED = range(200)


def check(seed: int) -> None:
    outcome = simulate(plan_for(seed))
    if outcome.problem:
        small = shrink(outcome)
        story = "\n".join(small.trace)
        pytest.fail(
            f"seed {seed}: {outcome.problem}\n"
            f"repeat: {command(outcome.plan, outcome.plan)}\n"
            f"smaller: {command(small.plan, outcome.plan)}\n{small.problem}\n{story}",
            pytrace=False,
        )


@pytest.mark.parametrize("first", range(FIXED.start, FIXED.stop, 25))
def test_every_promise_is_kept_in_the_worlds_we_know(first: int) -> None:
    for seed in range(first, first + 25):
        check(seed)


@pytest.mark.parametrize("seed", [3, 17, 29, 1893])
def test_a_seed_repeats_to_the_last_event(seed: int) -> None:
    first, second = simulate(plan_for(seed)), simulate(plan_for(seed))
    assert first.commits > 3
    assert (first.digest, first.commits, first.virtual_s) == (
        second.digest,
        second.commits,
        second.virtual_s,
    )


def test_a_seed_repeats_in_another_process_whatever_its_hashes() -> None:
    code = (
        "from windlass.testing.simulator import plan_for, simulate\n"
        "import sys\n"
        "sys.stdout.write(' '.join(simulate(plan_for(seed)).digest for seed in range(12)))\n"
    )
    logs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("1", "2")
    }
    assert len(logs) == 1


def test_the_command_repeats_a_seed() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "windlass.testing.simulator", "--seed", "17"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "every promise was kept" in done.stdout
    assert simulate(plan_for(17)).digest in done.stdout

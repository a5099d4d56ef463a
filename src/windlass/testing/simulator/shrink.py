"""Makes a failing world smaller while it still fails."""

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from windlass.testing.simulator.plan import Plan
from windlass.testing.simulator.world import Outcome, simulate

_TRIES_MAX = 120


def shrink(outcome: Outcome, run: Callable[[Plan], Outcome] = simulate) -> Outcome:
    """The smallest failing world found: fewer faults, runs, servers and workers."""
    tries = 0
    smaller = True
    while smaller and tries < _TRIES_MAX:
        smaller = False
        for plan in simpler(outcome.plan):
            tries += 1
            found = run(plan)
            if found.problem:
                outcome, smaller = found, True
                break
    return outcome


def simpler(plan: Plan) -> Iterator[Plan]:
    """Worlds with one thing less."""
    for name in ("runs", "servers"):
        if getattr(plan, name) > 1:
            yield replace(plan, **{name: 1})
            yield replace(plan, **{name: getattr(plan, name) - 1})
    if len(plan.workers) > 1:
        for number in range(len(plan.workers)):
            yield replace(plan, workers=plan.workers[:number] + plan.workers[number + 1 :])
    if plan.shuffled:
        yield replace(plan, shuffled=False)
    for fault in sorted(plan.faults):
        yield replace(plan, faults=plan.faults - {fault})


def command(plan: Plan, original: Plan) -> str:
    """The line that repeats a world, given what was taken from the one its seed stands for."""
    parts = [f"python -m windlass.testing.simulator --seed {plan.seed}"]
    parts += [
        f"--{name} {getattr(plan, name)}"
        for name in ("runs", "servers")
        if getattr(plan, name) != getattr(original, name)
    ]
    if plan.workers != original.workers:
        parts.append(f"--workers {','.join(plan.workers)}")
    if plan.shuffled != original.shuffled:
        parts.append("--in-order")
    dropped = sorted(original.faults - plan.faults)
    if dropped:
        parts.append(f"--without {','.join(dropped)}")
    return " ".join(parts)

"""The simulator as a command: some seeds, or one of them again."""

import argparse
import os
import random
import sys
import time

from msgspec.structs import replace

from windlass.testing.simulator.plan import FAULTS, LATER_FAULTS, WORKERS, Plan, plan_for
from windlass.testing.simulator.seeds import outcomes
from windlass.testing.simulator.shrink import command, shrink
from windlass.testing.simulator.world import Outcome, simulate


def main() -> int:
    args = arguments().parse_args()
    if args.seed is not None:
        return one(args)
    first = random.SystemRandom().randrange(10**9) if args.fresh else args.first
    seeds = range(first, first + args.seeds)
    say(f"seeds {seeds.start} to {seeds.stop - 1}")
    began = time.monotonic()
    done = commits = 0
    failed: list[Outcome] = []
    for outcome in outcomes(seeds, args.jobs):
        done += 1
        commits += outcome.commits
        if outcome.problem:
            failed.append(outcome)
            report(outcome, shrunk=len(failed) <= args.failures)
        if done % 1000 == 0:
            say(f"{done} seeds, {len(failed)} failed, {time.monotonic() - began:.0f} s")
        if len(failed) >= args.failures:
            break
    spent = time.monotonic() - began
    say(f"{done} seeds, {commits} commits, {len(failed)} failed, {done / spent:.0f} seeds a second")
    return 1 if failed else 0


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m windlass.testing.simulator")
    parser.add_argument("--seeds", type=int, default=200, help="how many worlds")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--fresh", action="store_true", help="begin at a random seed")
    parser.add_argument("--jobs", type=int, default=1, help="worlds at a time")
    parser.add_argument("--failures", type=int, default=3, help="stop after so many")
    parser.add_argument("--seed", type=int, help="only this one, with its story")
    parser.add_argument("--runs", type=int, help="runs in it")
    parser.add_argument("--servers", type=int, help="servers in it")
    parser.add_argument("--workers", help=f"what its workers are, of {','.join(WORKERS)}")
    parser.add_argument("--steps", type=float, help="virtual seconds of trouble in it")
    parser.add_argument("--in-order", action="store_true", help="no shuffling of callbacks")
    parser.add_argument(
        "--without", default="", help=f"faults to leave out of {','.join((*FAULTS, *LATER_FAULTS))}"
    )
    return parser


def one(args: argparse.Namespace) -> int:
    """Repeat one world exactly, with what the command line takes from it."""
    plan = plan_for(args.seed)
    for name in ("runs", "servers"):
        if getattr(args, name) is not None:
            plan = replace(plan, **{name: getattr(args, name)})
    if args.workers is not None:
        plan = replace(plan, workers=tuple(args.workers.split(",")))
    if args.steps is not None:
        plan = replace(plan, trouble_s=args.steps)
    if args.in_order:
        plan = replace(plan, shuffled=False)
    left_out = frozenset(args.without.split(","))
    plan = replace(plan, faults=plan.faults - left_out)
    outcome = simulate(plan)
    say(f"{plan}")
    say(f"{outcome.commits} commits, {outcome.virtual_s:.1f} virtual s, log {outcome.digest}")
    if outcome.problem:
        say(f"FAILED: {outcome.problem}")
        say("\n".join(outcome.trace))
        return 1
    say("every promise was kept")
    return 0


def report(outcome: Outcome, *, shrunk: bool) -> None:
    """One line that repeats the failure, and the smallest story that still fails."""
    original: Plan = outcome.plan
    say(f"FAILED: {outcome.problem}")
    say(f"repeat: {command(original, original)}")
    if shrunk:
        small = shrink(outcome)
        say(f"smaller: {command(small.plan, original)}")
        say(f"  {small.problem}")
        say("\n".join(f"  {line:.400}" for line in small.trace))


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    if os.environ.get("PYTHONHASHSEED") != "0":
        # Sets of text iterate in the order of their hashes, which differ by process.
        os.environ["PYTHONHASHSEED"] = "0"
        os.execv(  # noqa: S606 - the same program again, nothing from outside
            sys.executable, [sys.executable, "-m", "windlass.testing.simulator", *sys.argv[1:]]
        )
    sys.exit(main())

"""Every server dies between two steps of an environment's life, wherever that is, and comes back.

Simulated worlds crash at random; these crash at one point, again and again: before or after what a
runtime does, or right after a commit that moved a session.
"""

import asyncio
import random
from itertools import product
from typing import Any, Literal

import pytest
from msgspec.structs import replace

from windlass.drivers.env.noop import Interfere
from windlass.model.envs import EnvSession, EnvState
from windlass.testing.memory import Commit, MemoryDatabase
from windlass.testing.simulator import people, plan_for, simulate
from windlass.testing.simulator.checks import checker
from windlass.testing.simulator.checks.envs import check_envs
from windlass.testing.simulator.envs import Runtimes, add_envs
from windlass.testing.simulator.flows import Body
from windlass.testing.simulator.plan import Plan
from windlass.testing.simulator.world import World

_STEPS = [
    f"{when} {method}"
    for method, when in product(("allocate", "snapshot", "still", "release"), ("before", "after"))
]
_COMMITS = [f"commit of {state}" for state in EnvState]
_RESUMED = "commit of a new epoch"
_TRIES = 150
_FIRST = {
    "before still": 60,
    "after still": 60,
    f"commit of {EnvState.HELD}": 60,
    f"commit of {EnvState.KEPT}": 51,
    _RESUMED: 60,
}
"""Where worlds come to a point only now and then: the first that does."""
_AGAIN = 3


class Crashes:
    """Takes all servers of a world down at a point, the first few times it is reached."""

    def __init__(self, point: str) -> None:
        self.point = point
        self.count = 0
        self.world: World | None = None

    def reached(self, point: str) -> bool:
        world = self.world
        if world is None or point != self.point or self.count >= _AGAIN or world.runtimes.calm:
            return False
        self.count += 1
        world.loop.call_soon(self._crash, world)
        return True

    def _crash(self, world: World) -> None:
        for server in world.servers:
            server.crash()
            world.loop.call_later(0.5, server.restart)

    def plant(self, patch: pytest.MonkeyPatch) -> None:
        made, interfering = World.__init__, Runtimes._interfering

        def make(world: World, *given: Any) -> None:
            made(world, *given)
            self.world = world

        def also_crash(runtimes: Runtimes, *given: Any) -> Interfere:
            inner = interfering(runtimes, *given)

            async def interfere(when: Literal["before", "after"], method: str, place: str) -> None:
                await inner(when, method, place)
                if self.reached(f"{when} {method}"):
                    await asyncio.Event().wait()  # it gets no further

            return interfere

        def check(database: MemoryDatabase, commit: Commit) -> None:
            check_envs(database, commit)
            for point in sorted(moved_by(commit)):
                self.reached(point)

        def keep_all(flow: Body, rng: random.Random, *, planned: bool) -> None:
            add_envs(flow, rng, planned=planned)
            keep_failed(flow)

        patch.setattr(people, "add_envs", keep_all)
        patch.setattr(World, "__init__", make)
        patch.setattr(Runtimes, "_interfering", also_crash)
        patch.setattr(checker, "check_envs", check)


def keep_failed(flow: Body) -> None:
    """Few tasks fail for good, so all that do are kept."""
    for node in flow.get("nodes", {}).values():
        if "env" in node:
            node["env"]["keep_failed_s"] = 3
        elif node["kind"] == "subflow":
            keep_failed(node["subflow"])


def moved_by(commit: Commit) -> set[str]:
    """Which points a commit stands for."""
    found: set[str] = set()
    for table, _, old, new in commit.changes:
        if table is EnvSession and isinstance(new, EnvSession):
            if not isinstance(old, EnvSession) or old.state is not new.state:
                found.add(f"commit of {new.state}")
            elif old.epoch != new.epoch:
                found.add(_RESUMED)
            if isinstance(old, EnvSession) and old.epoch != new.epoch:
                found.add(_RESUMED)
    return found


def placed(seed: int, point: str) -> Plan:
    """A world with environments, and with what leads to a point besides."""
    plan = plan_for(seed)
    if point == f"commit of {EnvState.KEPT}":
        return replace(plan, faults=(plan.faults - {"planned"}) | {"placed", "handler_fatal"})
    return replace(plan, faults=plan.faults | {"placed", "planned", "steer", "answer"})


@pytest.mark.parametrize("point", [*_STEPS, *_COMMITS, _RESUMED])
def test_nothing_is_lost_or_left_when_all_servers_die_there(
    point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = _FIRST.get(point, 0)
    for seed in range(first, first + _TRIES):
        plan = placed(seed, point)
        crashes = Crashes(point)
        with monkeypatch.context() as patch:
            crashes.plant(patch)
            outcome = simulate(plan)
        assert not outcome.problem, (seed, outcome.problem, outcome.trace[-5:])
        if crashes.count:
            return
    pytest.fail(f"no world of {_TRIES} came to {point}")

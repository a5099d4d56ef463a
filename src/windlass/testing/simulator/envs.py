"""Environments in simulated worlds: a few resources, and runtimes that outlive every server."""

import asyncio
import random
from typing import Literal

from windlass.drivers.env.noop import Interfere, NoopBackend
from windlass.drivers.env.pretended import PretendedPlaces
from windlass.engine.envs.hosts import Hosts
from windlass.model.envs import EnvResource, resource_id
from windlass.ports.env import PlaceError, RuntimeAway
from windlass.testing.simulator.checks.envs import LOOK_MS_MIN
from windlass.testing.simulator.flows import Body
from windlass.testing.simulator.plan import Plan

KIND = "noop"
_CAPACITIES = {"alone": 1, "few": 2}
_SHARE = 0.4


def resources_of(tenant: str) -> list[EnvResource]:
    return [
        EnvResource(
            id=resource_id(tenant, name),
            tenant=tenant,
            name=name,
            kind=KIND,
            capacity=capacity,
            created_at=0,
        )
        for name, capacity in _CAPACITIES.items()
    ]


def add_envs(flow: Body, rng: random.Random, *, planned: bool) -> None:
    """Have some calls of a definition done in environments, at any depth."""
    if planned:
        for task in flow["plan"]["tasks"]:
            if rng.random() < _SHARE * 2:
                name = rng.choice(list(_CAPACITIES))
                task["env_preconditions"] = {"required": True, "resource_name": name}
        return
    for node in flow["nodes"].values():
        if node["kind"] in ("executor", "foreach") and rng.random() < _SHARE:
            keep_s = rng.choice((0, 0, 3))
            node["env"] = {"resource": rng.choice(list(_CAPACITIES)), "keep_failed_s": keep_s}
        elif node["kind"] == "subflow":
            add_envs(node["subflow"], rng, planned=False)


class Runtimes:
    """The machines that places are on. Servers come and go; what was made on them stays."""

    def __init__(self, plan: Plan) -> None:
        rng = plan.rng("runtimes")
        self._plan = plan
        self._hosts = {f"host{n}": PretendedPlaces() for n in range(rng.choice((1, 1, 2)))}
        self.lease_ms = rng.choice((800, 60_000))
        self.look_ms = rng.choice((LOOK_MS_MIN, 120_000))
        self.calm = False

    def reached_from(self, server: str) -> Hosts:
        """All of them, as one process of a server reaches them."""
        hosts = Hosts()
        if self._plan.has("placed"):
            rng = self._plan.rng(f"runtimes:{server}")
            for name, places in self._hosts.items():
                backend = NoopBackend(places, kind=KIND, interfere=self._interfering(rng))
                hosts.add(name, {KIND: backend})
        return hosts

    def _interfering(self, rng: random.Random) -> Interfere:
        async def interfere(when: Literal["before", "after"], method: str, place: str) -> None:
            slow = not self.calm and rng.random() < 0.3
            await asyncio.sleep(rng.uniform(0.1, 3.0) if slow else rng.uniform(0.001, 0.05))
            if self.calm or not self._plan.has("unavailable"):
                return
            chance = rng.random()
            if chance < 0.1:
                raise RuntimeAway("the runtime is away")
            if chance < 0.15 and when == "before" and method == "allocate":
                raise PlaceError("there is no such image")

        return interfere

    def names(self) -> list[str]:
        """Every place there is."""
        return [name for places in self._hosts.values() for name in places.names()]

"""Pods in simulated worlds: definitions whose calls are pods, beside those a world has anyway."""

import random

from windlass.testing.simulator.flows import Body, Maker
from windlass.testing.simulator.limits import add_limits

IMAGES = ("registry.example/task:1", "registry.example/task:2")


def make_pod_flow(rng: random.Random, *, limited: bool) -> Body:
    """A definition most of whose calls are pods."""
    flow = PodMaker(rng).body(depth=0)
    if limited and rng.random() < 0.4:
        add_limits(flow, rng)
    return flow


class PodMaker(Maker):
    """Builds definitions in which there is little to wait for but pods."""

    def node(self, depth: int, index: int) -> Body:
        kinds = ["executor"] * 6 + ["parallel", "foreach", "foreach"]
        if depth < 2:
            kinds.append("subflow")
        node: Body = {"kind": self.rng.choice(kinds)}
        getattr(self, f"fill_{node['kind']}")(node, depth)
        return node

    def call(self, node: Body) -> None:
        if self.chance(0.1):
            super().call(node)
        else:
            node.update(exec_type="pod", pod=pod_of(self.rng))

    def retries(self, node: Body) -> None:
        super().retries(node)
        if node.pop("timeout_ms", None) and self.chance(0.3):
            node["timeout_ms"] = self.rng.choice((300, 4000))


def pod_of(rng: random.Random) -> Body:
    """What a node says of its pods; waits are short, as worlds are."""
    pod: Body = {
        "image": rng.choice(IMAGES),
        "grace_s": rng.choice((0, 1)),
        "sdk": rng.random() < 0.35,
        "eviction_wait_s": rng.choice((0, 0.3)),
        "capacity_retries": rng.randint(0, 3),
        "capacity_wait_s": rng.choice((0, 0.3)),
    }
    if rng.random() < 0.5:
        pod["resources"] = {"memory": "64Mi"}
        pod["oom_memory_factor"] = 2
        pod["oom_retries"] = rng.randint(0, 2)
    return pod

"""Random port graphs: nodes of a package, wired forward, with retries, limits and affinity."""

import random
from typing import Any
from uuid import UUID

PACKAGE, VERSION = "sim", "1.0.0"
TYPES = ("sim.a", "sim.b", "sim.c")

Body = dict[str, Any]


def make_workflow(rng: random.Random) -> Body:
    """A whole definition: each node may lead to any that comes after it."""
    count = rng.randint(1, 6)
    ids = [_uuid(rng) for _ in range(count)]
    nodes = [_node(rng, id_) for id_ in ids]
    edges: list[Body] = []
    for first in range(count):
        for second in range(first + 1, count):
            if rng.random() < (0.8 if second == first + 1 else 0.25):
                edges.append(_edge(rng, ids[first], ids[second]))
    return {
        "id": _uuid(rng),
        "schemaVersion": "2025-10",
        "metadata": {"name": "simulated"},
        "nodes": nodes,
        "edges": edges,
    }


def _node(rng: random.Random, id_: str) -> Body:
    node: Body = {
        "id": id_,
        "type": rng.choice(TYPES),
        "package": {"name": PACKAGE, "version": VERSION},
        "label": id_[:4],
        "position": {"x": 0, "y": 0},
        "parameters": {"n": rng.randrange(9)},
        "ui": {
            "inputPorts": [_port("in", "parameters.in")],
            "outputPorts": [_port("v", "results.v"), _port("action", "results.action")],
        },
    }
    if rng.random() < 0.4:
        node["retry"] = {"maxAttempts": rng.randint(2, 4), "delayMs": rng.choice((0, 100))}
    if rng.random() < 0.2:
        node["timeoutMs"] = rng.choice((100, 600, 3000))
    if rng.random() < 0.2:
        mode = rng.choice(("sticky", "preferred"))
        ttl_ms = rng.choice((5_000, 600_000))
        node["affinity"] = {"key": f"k{rng.randrange(2)}", "mode": mode, "ttlMs": ttl_ms}
    return node


def _port(key: str, path: str) -> Body:
    return {"key": key, "label": key, "binding": {"path": path, "mode": "two_way"}}


def _edge(rng: random.Random, source: str, target: str) -> Body:
    edge: Body = {
        "id": f"{source}-{target}",
        "source": {"node": source, "port": rng.choice(("v", "action"))},
        "target": {"node": target, "port": "in"},
    }
    if rng.random() < 0.2:
        edge["condition"] = {"path": "results.action", "equals": rng.choice(("default", "alt"))}
    return edge


def _uuid(rng: random.Random) -> str:
    return str(UUID(int=rng.getrandbits(128), version=4))

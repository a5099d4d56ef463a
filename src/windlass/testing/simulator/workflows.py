"""Random port graphs: nodes of a package, wired forward, with retries, limits and affinity."""

import random
from typing import Any
from uuid import UUID

PACKAGE, VERSION = "sim", "1.0.0"
TYPES = ("sim.a", "sim.b", "sim.c")

Body = dict[str, Any]


def make_workflow(rng: random.Random) -> Body:
    """A whole definition: each node may lead to any that comes after it."""
    whole = _body(rng, rng.randint(1, 6))
    # Drawn apart, so that seeds go on standing for the graphs they stood for without containers.
    inner = random.Random(whole["id"])
    if inner.random() < 0.4:
        at = inner.randrange(len(whole["nodes"]))
        whole["nodes"][at] = _container(inner, whole["nodes"][at])
        whole["subgraphs"] = [{"id": "inside", "definition": _body(inner, inner.randint(1, 3))}]
    return whole


def _body(rng: random.Random, count: int) -> Body:
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


def _container(rng: random.Random, node: Body) -> Body:
    """A graph in the place of a node, at times gone through several times."""
    inside: Body = {"subgraphId": "inside"}
    if rng.random() < 0.5:
        inside["loop"] = {"enabled": True, "maxIterations": rng.randint(1, 3)}
    return {
        "id": node["id"],
        "type": "workflow.container",
        "role": "container",
        "label": node["label"],
        "position": node["position"],
        "parameters": {"__container": inside},
        "ui": node["ui"],
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

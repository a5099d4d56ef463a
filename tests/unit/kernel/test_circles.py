"""Patches that lead in a circle: one look at the edges agrees with following every way."""

import random

from windlass.kernel.bounds import Limits
from windlass.kernel.downstream import reachable
from windlass.kernel.patching import extended, problems_of
from windlass.model.graph import Activation, Edge, Graph, Kind, Node, Target, Transport
from windlass.model.patches import Patch


def node(path: str) -> Node:
    return Node(path, Kind.CALL, Activation.ALL, target=Target(Transport.PULL, "s"))


def some_patch(rng: random.Random) -> tuple[Graph, Patch]:
    """A graph without circles, and a patch that drops, replaces and joins nodes at random."""
    names = [f"n{at}" for at in range(5)]
    edges: dict[str, tuple[Edge, ...]] = {}
    for at, source in enumerate(names):
        onward = [name for name in names[at + 1 :] if rng.random() < 0.3]
        edges[source] = tuple(Edge(source, "default", name) for name in onward)
    joins = {
        name: sum(e.target == name for out in edges.values() for e in out) or 1 for name in names
    }
    drop = [name for name in names if rng.random() < 0.25]
    added = [*(name for name in drop if rng.random() < 0.6), "n5"]
    alive = [*(name for name in names if name not in drop), *added]
    more = [Edge(rng.choice(alive), "default", rng.choice(alive)) for _ in range(rng.randint(1, 4))]
    graph = Graph({"": (names[0],)}, {name: node(name) for name in names}, edges, joins)
    return graph, Patch(tuple(map(node, added)), tuple(more), tuple(drop))


def test_a_patch_is_refused_exactly_if_it_leads_in_a_circle() -> None:
    refused = 0
    for seed in range(600):
        graph, patch = some_patch(random.Random(seed))
        after = extended(graph, patch)
        circles = [e for e in patch.edges if e.target and e.source in reachable(after, e.source)]
        found = problems_of(graph, patch, Limits(), 0, 100)
        assert bool(found) == bool(circles), (seed, found)
        refused += bool(found)
    assert 100 < refused < 500

"""Limits in simulated worlds: some calls share a few keys, each with one meaning everywhere; some
runs may use up only so much."""

import random

from windlass.model.limits import LimitRule, limit_id
from windlass.testing.simulator.flows import Body

_SHARE = 0.5
_CALLING = ("executor", "parallel", "foreach")
KEYS: tuple[Body, ...] = (
    {"key": "one", "max": 1},
    {"key": "two:$params.p", "max": 2},
    {"key": "pace", "rate": 4, "per_s": 0.5, "burst": 2},
    {"key": "both:$params.p", "max": 3, "rate": 10},
)


def add_limits(flow: Body, rng: random.Random) -> None:
    """Put some calls of a definition under limits, at any depth."""
    if rng.random() < 0.1:
        flow["limits"] = [rng.choice(KEYS)]
    _to_nodes(flow, rng)


def _to_nodes(body: Body, rng: random.Random) -> None:
    for node in body["nodes"].values():
        if node["kind"] in _CALLING and rng.random() < _SHARE:
            node["limits"] = rng.sample(KEYS, rng.choice((1, 1, 2)))
        elif node["kind"] == "subflow":
            _to_nodes(node["subflow"], rng)
            if rng.random() < 0.1:
                node["limits"] = [rng.choice(KEYS)]


def add_budget(flow: Body, rng: random.Random) -> None:
    """Let runs of a definition use up only so much before somebody is asked."""
    if rng.random() < 0.5:
        return
    budget: Body = {"attempts": rng.choice((1, 3, 8))}
    if rng.random() < 0.7:
        budget |= {"tokens": rng.choice((5, 20))}
    if rng.random() < 0.5:
        budget["estimate"] = {"tokens": rng.choice((1, 4))}
    flow["budget"] = budget


def usage_of(attempt_id: str) -> dict[str, float]:
    """What an attempt of a simulated worker uses: the same each time it is asked."""
    return {"tokens": sum(attempt_id.encode()) % 5}


def breaker_of(tenant: str) -> LimitRule:
    """Leave each service of a tenant alone for a moment when it fails twice in a row."""
    key = "service:*"
    id_ = limit_id(tenant, key)
    return LimitRule(id=id_, tenant=tenant, pattern=key, trip_after=2, reset_ms=700)


PROJECTS = ("", "ml", "ml")
"""Which part of its tenant's work a run belongs to, in turn."""


def quotas_of(tenant: str) -> list[LimitRule]:
    """How many runs and attempts a tenant may have at once, and one of its projects."""
    bounds = {"quota:runs": 2, "quota:runs@ml": 1, "quota:tasks@ml": 2}
    return [
        LimitRule(id=limit_id(tenant, key), tenant=tenant, pattern=key, max=most)
        for key, most in bounds.items()
    ]

"""Verification in simulated worlds: which results are judged, and how verifiers judge.

Whoever works here may be asked for a verdict as well, and a result says both: verifiers read from
it whether they accept, reject, leave it to people, or answer what is no verdict at all.
"""

import random
from typing import Any

from windlass.testing.simulator.flows import LOCAL, PULL, Body

_SHARE = 0.4
_POLICIES = ("fail", "retry", "retry", "ask")
_SAID = (*["accepted"] * 6, "rejected", "rejected", "ask", "perhaps")


def add_verification(flow: Body, rng: random.Random) -> None:
    """Have some calls of a definition verified, at any depth."""
    for node in flow["nodes"].values():
        if node["kind"] == "executor" and rng.random() < _SHARE:
            node["verification"] = policy_of(rng)
        elif node["kind"] == "subflow":
            add_verification(node["subflow"], rng)


def policy_of(rng: random.Random) -> dict[str, Any]:
    own = rng.random() < 0.3
    policy: dict[str, Any] = {
        "verifier_profile": rng.choice(LOCAL if own else PULL),
        "exec_type": "local_func" if own else "queue",
        "on_reject": rng.choice(_POLICIES),
    }
    if rng.random() < 0.3:
        policy["timeout_seconds"] = rng.choice((0.3, 1.5))
    return policy


def judgement(rng: random.Random) -> str:
    return rng.choice(_SAID)

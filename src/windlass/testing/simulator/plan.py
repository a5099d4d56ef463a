"""What a seed stands for: the size of its world and the faults in it."""

import random

import msgspec

FAULTS = (
    "crash",
    "pause",
    "partition",
    "loss",
    "duplicate",
    "delay",
    "skew",
    "raced",
    "unavailable",
    "answer_lost",
    "late_commit",
    "slow_commit",
    "slow_read",
    "handler_fails",
    "handler_fatal",
    "handler_hangs",
    "signal",
    "answer",
    "cancel",
    "retry",
    "retry_from",
    "same_key",
    "gone",
)
"""Everything that can be switched off, so that a failing seed shrinks to what it needs."""
LATER_FAULTS = {"poison": 1 / 3, "clock_back": 1 / 3, "patch": 1.0, "spy": 1 / 3}
"""More of it and how often each is, beside the others. They are drawn apart: seeds that were known
before are the same worlds but for these."""
LATEST_FAULTS = {"verified": 0.8, "planned": 0.6}
"""The same once more: verdicts on results are given, refused and lost; goals are planned."""
LIMIT_FAULTS = {"limited": 0.7, "budgeted": 0.4, "breakers": 0.4}
"""And once more: calls are under limits by key, runs under budgets, services have breakers."""
STEERING_FAULTS = {"steer": 0.7}
"""And once more: people give hints, ask questions, and do without tasks."""
LEDGER_FAULTS = {"act": 0.4, "fork": 0.3}
"""And once more: attempts act outside and write on the blackboard, people allow what cannot be
undone, and fork runs that have ended."""
ENV_FAULTS = {"placed": 0.35}
"""And once more: some work is done in environments, whose runtimes are slow, away, and refuse."""
QUOTA_FAULTS = {"quotas": 0.3}
"""And once more: only so many runs of a tenant, and of its projects, may go on at once."""
POD_FAULTS = {"pods": 0.2}
"""And once more: beside all else there are runs whose tasks are pods, which come to every end."""
GROWN_FAULTS = {"grown": 0.3}
"""And once more: some nodes of flows are plans."""


WORKERS = ("stubborn", "pull", "link")


class Plan(msgspec.Struct, frozen=True):
    """One world, complete: the same plan gives the same history to the last event."""

    seed: int
    servers: int
    workers: tuple[str, ...]
    """What each worker is: `stubborn` (offers its results for ever), or the real `pull` or
    `link` worker."""
    runs: int
    trouble_s: float
    """How long faults go on; after that the world is calm and everything must end."""
    faults: frozenset[str]
    row_locks: bool
    shuffled: bool
    lease_s: float
    branches_per_turn: int
    branches_open: int
    visits_per_turn: int
    cancel_grace_ms: int
    moves_max: int
    latency: float
    """How far away the database is: with a slow one, jobs gather and processes get in each
    other's way."""
    tenants: tuple[str, ...]
    """Whose the runs are, in turn."""

    def rng(self, name: str) -> random.Random:
        """A stream of its own for each part, so that switching one off leaves the others be."""
        return random.Random(f"{self.seed}:{name}")

    def has(self, fault: str) -> bool:
        return fault in self.faults


def plan_for(seed: int) -> Plan:
    rng = random.Random(f"{seed}:plan")
    share = rng.choice((0.0, 0.3, 0.6, 0.8, 1.0))
    # A fleet of one kind, too: only workers on the link take over from each other.
    kinds = rng.choice((WORKERS, WORKERS, ("link",)))
    later, latest = random.Random(f"{seed}:later"), random.Random(f"{seed}:latest")
    limited, steered = random.Random(f"{seed}:limited"), random.Random(f"{seed}:steered")
    acting, placed = random.Random(f"{seed}:acting"), random.Random(f"{seed}:placed")
    bounded = random.Random(f"{seed}:bounded")
    podded, grown = random.Random(f"{seed}:podded"), random.Random(f"{seed}:grown")
    return Plan(
        seed=seed,
        servers=rng.choice((1, 1, 2, 2, 3)),
        workers=tuple(rng.choice(kinds) for _ in range(rng.choice((1, 2, 2, 3)))),
        runs=rng.choice((1, 2, 4, 6, 8)),
        trouble_s=rng.choice((5.0, 10.0, 20.0)),
        faults=frozenset(fault for fault in FAULTS if rng.random() < share)
        | frozenset(f for f in LATER_FAULTS if later.random() < share * LATER_FAULTS[f])
        | frozenset(f for f in LATEST_FAULTS if latest.random() < share * LATEST_FAULTS[f])
        | frozenset(f for f in LIMIT_FAULTS if limited.random() < LIMIT_FAULTS[f])
        | frozenset(f for f in STEERING_FAULTS if steered.random() < share * STEERING_FAULTS[f])
        | frozenset(f for f in LEDGER_FAULTS if acting.random() < LEDGER_FAULTS[f])
        | frozenset(f for f in ENV_FAULTS if placed.random() < ENV_FAULTS[f])
        | frozenset(f for f in QUOTA_FAULTS if bounded.random() < QUOTA_FAULTS[f])
        | frozenset(f for f in POD_FAULTS if podded.random() < POD_FAULTS[f])
        | frozenset(f for f in GROWN_FAULTS if grown.random() < GROWN_FAULTS[f]),
        row_locks=rng.random() < 0.6,
        shuffled=rng.random() < 0.7,
        lease_s=rng.choice((1.5, 3.0, 6.0)),
        branches_per_turn=rng.choice((1, 2, 3, 1000)),
        branches_open=grown.choice((1, 2, 3, 5, 10_000)),
        visits_per_turn=rng.choice((12, 80)),
        cancel_grace_ms=rng.choice((200, 2000)),
        moves_max=rng.choice((2, 16)),
        latency=rng.choice((1.0, 1.0, 8.0, 40.0)),
        tenants=later.choice((("default",), ("default", "acme"), ("acme", "zoo"))),
    )

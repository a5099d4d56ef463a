"""What workers say of their attempts on a bus, beside what they tell the server: facts as they
travel. They hasten what a lease would decide in the end, or confirm what is known; results never
come this way."""

from typing import Any, Literal

import msgspec

FactType = Literal[
    "attempt.claimed",
    "attempt.started",
    "attempt.start_failed",
    "attempt.completed",
    "attempt.failed",
    "attempt.lost",
    "verification.claimed",
    "verification.started",
    "verification.start_failed",
    "verification.completed",
    "verification.failed",
    "verification.lost",
]


class AttemptFact(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One observation of one attempt."""

    type: FactType
    fact_id: str
    run_id: str
    attempt_id: str
    """An attempt, whatever it is for: to judge is an attempt as well."""
    claim_epoch: int
    """Its number."""
    task_id: str = ""
    claim_token: str = ""
    """The attempt's own; what is said without it confirms, and changes nothing."""
    payload: dict[str, Any] = {}
    observed_at: str | float = ""
    schema_version: str = "v1"
    env_session_id: str = ""
    env_lease_epoch: int = 0
    idempotency_key: str = ""

    @property
    def deed(self) -> str:
        """What happened, without to whom: `started`, `lost`, …"""
        return self.type.partition(".")[2]

    @property
    def is_sound(self) -> bool:
        names = (self.fact_id, self.run_id, self.task_id, self.attempt_id, self.claim_token)
        return self.claim_epoch > 0 and all(
            len(name) <= 2_000 and "\0" not in name for name in names
        )

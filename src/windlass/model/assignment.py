"""What a worker gets with a lease."""

from typing import Any

import msgspec

from windlass.model.graph import Affinity, Target
from windlass.model.rows import Json


class Assignment(msgspec.Struct, frozen=True):
    """Everything a worker needs to do one attempt."""

    attempt_id: str
    run_id: str
    task_id: str
    node: str
    number: int
    queue: str
    input: Json
    params: Json
    lease_until: int
    claimed_at: int
    timeout_ms: int = 0
    script: dict[str, Any] | None = None
    worker_id: str = ""
    worker_url: str = ""
    target: Target | None = None
    affinity: Affinity | None = None

    @property
    def transport(self) -> str:
        """How it reaches its executor; a worker's own queue is named after both."""
        return self.queue.partition(":")[0].partition("@")[0]

    @property
    def service(self) -> str:
        return self.queue.partition(":")[2]

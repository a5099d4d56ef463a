"""What a worker gets: an attempt with its lease, and what becomes of a task it called for."""

from typing import Any

import msgspec

from windlass.model.graph import Affinity, Target
from windlass.model.queues import service_of, transport_of
from windlass.model.rows import Json
from windlass.model.states import TASK_ENDED, Role, TaskState


class Chain(msgspec.Struct, frozen=True):
    """Where an attempt stands in a chain of middlewares."""

    host: str
    """The id of the node the chain leads to."""
    middlewares: tuple[str, ...]
    index: int


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
    seq: int = 0
    """Number of the event that leased it: grows with every change of the run."""
    target: Target | None = None
    affinity: Affinity | None = None
    chain: Chain | None = None
    role: Role = Role.WORK
    feedback: Json = ""
    """What was said of earlier tries, as a list of objects; empty where nothing was."""
    env: Json = ""
    """The place it is done in, as whoever works there is told; empty where it needs none."""

    @property
    def transport(self) -> str:
        """How it reaches its executor; a worker's own queue is named after both."""
        return transport_of(self.queue)

    @property
    def service(self) -> str:
        return service_of(self.queue)


class Called(msgspec.Struct, frozen=True):
    """A task that an attempt called for, as it stands; wait for its end if it has not ended."""

    task_id: str
    state: TaskState
    output: Json | None = None
    error: Json | None = None

    @property
    def ended(self) -> bool:
        return self.state in TASK_ENDED

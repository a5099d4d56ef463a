"""Pods as whoever launches them has them: attempts to make pods of, and what to say about those.

Promise. `detach` is committed before it answers, and so is what `observe` decides. What is said
about an attempt that does not count any more changes nothing and raises nothing.
"""

from collections.abc import Collection, Sequence
from typing import Protocol

import msgspec

from windlass.model.pod_records import KubeEvents
from windlass.model.pods import FactOutcome, PodSighting, PodSpec
from windlass.model.reasons import Reason
from windlass.model.rows import Failure, Json
from windlass.ports.work import Waiting


class PodTask(msgspec.Struct, frozen=True, kw_only=True):
    """All that the pod of an attempt follows from."""

    attempt_id: str
    task_id: str
    run_id: str
    flow_id: str
    node: str
    number: int
    tenant: str
    input: Json
    spec: PodSpec
    oom_count: int = 0
    """How many attempts before it ran out of memory."""


class Detached(msgspec.Struct, frozen=True):
    """A live attempt that is a pod."""

    attempt_id: str
    pod: str
    uid: str
    """Empty while nobody has seen the pod."""
    running: bool
    stopping: bool
    """Somebody asked it to stop."""


class PodWork(Protocol):
    def want(
        self, worker_id: str, queues: Sequence[str], slots: int, *, holder: str = ""
    ) -> Waiting:
        """State demand for the tasks of some queues, of all tenants."""
        ...

    def give_back(self, attempt_id: str) -> None:
        """Return an attempt that nobody began."""
        ...

    async def namespaces(self) -> Collection[str]:
        """Those for which tasks wait."""
        ...

    async def task(self, attempt_id: str) -> PodTask | None:
        """What to make a pod of; None if there is nothing to make."""
        ...

    async def token(self, attempt_id: str) -> str:
        """What proves that an attempt was leased to whoever shows it."""
        ...

    async def installation(self) -> str:
        """A word for this database, the same for all servers on it."""
        ...

    async def detach(self, attempt_id: str, pod: str, uid: str = "") -> bool:
        """Make an attempt a pod, or say which; false if it does not count any more."""
        ...

    async def observe(self, attempt_id: str, seen: PodSighting) -> FactOutcome:
        """Say what was seen of an attempt's pod."""
        ...

    async def failed(self, attempt_id: str, failure: Failure) -> str:
        """Say that no pod can be made of an attempt."""
        ...

    async def detached(self) -> list[Detached]:
        """All live attempts that are pods."""
        ...

    async def live(self, attempts: Sequence[str]) -> Collection[str]:
        """Those of some attempts that have not ended."""
        ...

    async def keep_log(self, attempt_id: str, text: str) -> None:
        """Keep the end of what a pod has said."""
        ...

    async def waits_for(self, reasons: dict[str, Reason]) -> None:
        """Keep what pods that have not begun wait for, by attempt: all there are."""
        ...

    async def keep_events(self, attempt_id: str, events: KubeEvents) -> None:
        """Keep what Kubernetes says happened to a pod, in place of what it said before."""
        ...

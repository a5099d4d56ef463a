"""Work: how whoever executes attempts gets them and answers for them, whatever the transport.

Promise. An assignment is leased and committed before it is handed out. An outcome is answered only
once it is committed: `accepted`, or `duplicate` if this very attempt had already succeeded.
`StaleLease` means another has the work, or it is done: stop and forget it.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from windlass.model.assignment import Assignment
from windlass.model.log_marks import LogMark
from windlass.model.rows import Failure, Json
from windlass.model.tenants import ALL


class Waiting(Protocol):
    """Demand that waits: its size can change, and it can be taken back."""

    @property
    def given(self) -> bool:
        """Whether there is something for it already."""
        ...

    def resize(self, slots: int, caps: Mapping[str, int] | None = None) -> None:
        """Ask for so many attempts from now on, of single services for no more than `caps`."""
        ...

    def add(self, slots: int, caps: Mapping[str, int]) -> bool:
        """Ask for so many more; false if it has been answered."""
        ...

    def weigh(self, load: int) -> None:
        """Count the worker as carrying so much from now on."""
        ...

    async def assignments(self) -> list[Assignment]:
        """Wait until there is at least one."""
        ...

    async def leave(self) -> list[Assignment]:
        """Stop waiting, while somebody is still there to take what a commit under way gives."""
        ...

    def withdraw(self) -> list[Assignment]:
        """Stop waiting, at once; returns what had been given in the same moment. What a commit
        under way gives goes back to its queue."""
        ...


class Work(Protocol):
    def want(
        self,
        worker_id: str,
        queues: Sequence[str],
        slots: int,
        *,
        holder: str = "",
        url: str = "",
        load: int = 0,
        caps: Mapping[str, int] | None = None,
        tenant: str = ALL,
    ) -> Waiting:
        """State demand for the tasks of some queues, of one tenant or of all; `load` is what the
        worker says it carries, `caps` bounds the tasks of single services below `slots`."""
        ...

    async def succeeded(
        self,
        attempt_id: str,
        output: Json,
        log: str | None = None,
        *,
        usage: Mapping[str, float] | None = None,
        marks: Sequence[LogMark] = (),
    ) -> str: ...

    async def failed(
        self,
        attempt_id: str,
        failure: Failure,
        log: str | None = None,
        *,
        usage: Mapping[str, float] | None = None,
        marks: Sequence[LogMark] = (),
    ) -> str: ...

    async def token(self, attempt_id: str) -> str:
        """What proves that an attempt was leased to whoever shows it."""
        ...

    async def renew(self, attempts: Sequence[str]) -> dict[str, bool]:
        """Extend leases; tells of each still held whether it was asked to stop."""
        ...

    @property
    def lease_s(self) -> float: ...

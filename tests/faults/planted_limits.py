"""Faults of limits by key: places that leak or come back twice, and lines that do not move."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from tests.faults.planted import Patch, fault
from windlass.engine.limits import gate
from windlass.engine.limits.bucket import Bucket
from windlass.model.rows import Attempt, Task
from windlass.model.states import AttemptState
from windlass.ports.store import Session
from windlass.testing.memory.store import MemorySession


@fault("a place is not given back when the lease of its attempt runs out")
def place_leaks_with_the_lease(patch: Patch) -> None:
    right = gate.Gate.hold

    async def hold(
        self: gate.Gate, session: Session, ended: gate.Ended, keys: Iterable[str]
    ) -> None:
        kept = [holder for holder in ended.settled if holder.state is not AttemptState.LOST]
        await right(self, session, replace(ended, settled=kept), keys)

    patch.setattr(gate.Gate, "hold", hold)


@fault("a place is given back twice")
def place_given_back_twice(patch: Patch) -> None:
    right = Bucket.give_back

    def give_back(self: Bucket, amount: int = 0, by: Attempt | None = None) -> None:
        right(self, amount, by)
        self.in_use = max(0, self.in_use - 1)

    patch.setattr(Bucket, "give_back", give_back)


@fault("two servers count the same key at the same moment, and one count is lost")
def counted_by_two_servers(patch: Patch) -> None:
    async def hold(self: MemorySession, blanks: Sequence[Any]) -> list[Any]:
        await self._store.reading()
        rows = self._db.table(type(blanks[0]))
        return [rows.get(row.pk, row) for row in blanks]

    patch.setattr(MemorySession, "hold", hold)


@fault("what a rate allows is there again each time another server looks")
def refilled_twice(patch: Patch) -> None:
    patch.setattr(Bucket, "tokens", property(lambda self: 2))


@fault("nobody who waits for a limit is woken")
def nobody_is_woken(patch: Patch) -> None:
    async def to_wake(self: gate.Gate, session: Session, probes: Mapping[str, bool]) -> list[Task]:
        return []

    patch.setattr(gate.Gate, "to_wake", to_wake)


@fault("who is parked is not counted, so that nobody looks for it")
def parked_uncounted(patch: Patch) -> None:
    patch.setattr(gate.Gate, "parked", lambda self, key: None)

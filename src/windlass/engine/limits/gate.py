"""The gate of one pass: what its claims reserve, what its ends give back, who is woken.

Theory of operation. A place of each of a task's limits is reserved in the commit that hands its
attempt out, under the attempt's id, and settled in the commit that ends that attempt. An attempt
ends exactly once, whoever ends it and however often it is tried: so nothing is given back twice,
and what a crash leaves behind comes back when the lease runs out. The rows of all keys of a pass
are held in one go and in key order, so that two processes count exactly and never wait for each
other crosswise.

A task that finds no room is *parked*: it leaves its queue, where it would stand before others, and
waits at the first of its limits that is used up. Whoever gives back wakes as many as there is room
for, in the same commit; a rate or a pause is woken by its time. Nothing is polled.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from windlass.engine.limits import bucket
from windlass.engine.limits.rules import Rules
from windlass.model.limits import (
    Limit,
    LimitUse,
    limit_id,
    read_held,
    service_key,
    write_held,
)
from windlass.model.queues import service_of, tenant_of
from windlass.model.rows import Attempt, Json, Task
from windlass.ports.store import Session

LOOK_MS = 5_000
"""A woken task may have nobody to execute it; after so long the next one is woken as well."""
WAKES_MAX = 256


class Ended(msgspec.Struct):
    """What a pass has ended that concerns limits."""

    settled: list[Attempt] = []
    """Attempts that have ended and held something."""
    pushed_back: list[tuple[Attempt, int]] = []
    """Attempts whose service wants to be left alone, and for how long."""

    def __bool__(self) -> bool:
        return bool(self.settled or self.pushed_back)


class Gate:
    """The keys a pass has in hand, as they stand in the middle of it."""

    def __init__(self, rules: Rules, now: int) -> None:
        self._rules = rules
        self._now = now
        self._uses: dict[str, LimitUse] = {}
        self._late_ms: dict[str, int] = {}
        """Of keys somebody waits for: for how long the next has been due."""
        self._stored: dict[str, LimitUse] = {}
        self._asks: dict[str, dict[str, Limit]] = {}
        self._reserved: dict[str, dict[str, LimitUse]] = {}
        """By task: the rows as they were before its place was taken."""
        self._moved: set[str] = set()
        """Keys of which something was handed out."""

    async def hold(
        self, session: Session, ended: Ended, tasks: Iterable[Task], due: Iterable[str]
    ) -> None:
        """Take every key that matters to this pass, and count what has ended."""
        keys = set(due)
        for attempt in ended.settled:
            keys.update(read_held(attempt.limits))
        pauses = pauses_of(ended.pushed_back, self._now)
        keys.update(pauses)
        for task in tasks:
            keys.update(self._limits_of(task))
        if not keys:
            return
        for use in await session.hold([blank(key) for key in sorted(keys)]):
            self._uses[use.id] = self._stored[use.id] = use
            self._late_ms[use.id] = bucket.late_ms(use, self._now)
        for attempt in ended.settled:
            for key in read_held(attempt.limits):
                self._uses[key] = bucket.given_back(self._uses[key])
        for key, until in pauses.items():
            use = bucket.forfeit(self._uses[key], until)
            self._uses[key] = replace(use, paused_until=max(use.paused_until, until))

    def _limits_of(self, task: Task) -> Mapping[str, Limit]:
        asks = self._asks.get(task.id)
        if asks is None:
            asks = self._asks[task.id] = self._rules.limits_of(task)
        return asks

    def _room(self, use: LimitUse) -> int:
        return bucket.room(use, self._now, late_ms=self._late_ms[use.id])

    # Waking

    async def to_wake(self, session: Session, probes: Mapping[str, bool]) -> list[Task]:
        """Whoever waits, as many of each key as there is room for, oldest first."""
        wants: dict[str, int] = {}
        left = WAKES_MAX
        for key, use in self._uses.items():
            if use.parked and left > 0:
                free = self._room(use) or int(probes.get(key, False))
                if free:
                    wants[key] = min(free, use.parked, left)
                    left -= wants[key]
        if not wants:
            return []
        found = await session.parked(wants)
        counts = Counter(task.parked or "" for task in found)
        for key, want in wants.items():
            use = self._uses[key]
            # Who was cancelled while he waited is gone: fewer than asked for is all there are.
            rest = use.parked - want if counts[key] == want else 0
            self._uses[key] = replace(use, parked=rest)
        return found

    # Handing out

    def blocked(self, task: Task) -> str | None:
        """Reserve a task's places; else the limit that has no room, or "" if the pass does not have
        all of its keys in hand and the next one is to try."""
        asks = self._limits_of(task)
        if not asks:
            return None
        if any(key not in self._uses for key in asks):
            return ""
        for key, limit in asks.items():
            use = self._uses[key] = bucket.allow(self._uses[key], limit)
            if not self._room(use):
                return key
        self._reserved[task.id] = {key: self._uses[key] for key in asks}
        for key in asks:
            self._uses[key] = bucket.taken(self._uses[key], self._now, late_ms=self._late_ms[key])
            self._moved.add(key)
        return None

    def held(self, task: Task) -> Json:
        """What is reserved for a task's attempt."""
        return write_held(list(self._reserved.get(task.id, ())))

    def not_claimed(self, task: Task) -> None:
        """Nobody got the task after all: nothing is taken."""
        for key in self._reserved.pop(task.id, ()):
            self._uses[key] = bucket.given_back(self._uses[key])

    def parked(self, key: str) -> None:
        """One more waits for a key."""
        use = self._uses[key]
        self._uses[key] = replace(use, parked=use.parked + 1, used_at=self._now)

    # Ending

    def look_soon(self) -> None:
        """This pass wakes nobody: the next one is to."""
        self._moved.update(self._uses)

    def changed(self) -> dict[str, LimitUse]:
        """The rows to save, each with when to look at it again."""
        rows = {key: self._to_look_at(use) for key, use in self._uses.items()}
        return {key: use for key, use in rows.items() if use != self._stored[key]}

    def _to_look_at(self, use: LimitUse) -> LimitUse:
        if not use.parked:
            return replace(use, wake_at=None)
        if not self._room(use):
            return replace(use, wake_at=bucket.next_at(use, self._now))
        if use.id in self._moved:
            return replace(use, wake_at=self._now)
        # There is room, and who was woken did not take it, for want of a worker.
        return replace(bucket.forfeit(use, self._now), wake_at=self._now + LOOK_MS)


def blank(key: str) -> LimitUse:
    tenant, _, name = key.partition(" ")
    return LimitUse(id=key, tenant=tenant, key=name)


def pauses_of(pushed_back: Sequence[tuple[Attempt, int]], now: int) -> dict[str, int]:
    """Until when which keys are left alone: those an attempt held, else its service's."""
    pauses: dict[str, int] = {}
    for attempt, ms in pushed_back:
        keys = read_held(attempt.limits)
        if not keys:
            key = service_key(service_of(attempt.queue))
            keys = [limit_id(tenant_of(attempt.queue), key)]
        for key in keys:
            pauses[key] = max(pauses.get(key, 0), now + ms)
    return pauses

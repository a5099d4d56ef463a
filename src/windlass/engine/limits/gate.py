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
from typing import cast

import msgspec

from windlass.engine.limits.bucket import Bucket
from windlass.engine.limits.rules import Rules, can_park
from windlass.kernel.events import BudgetQuestion
from windlass.model.budgets import shown_all, unit_of
from windlass.model.envs import EnvResource, EnvSession
from windlass.model.limits import (
    Limit,
    LimitUse,
    is_image_key,
    key_of,
    limit_id,
    read_held,
    service_key,
    write_held,
)
from windlass.model.queues import service_of, tenant_of
from windlass.model.quotas import RUNS, QueuedRun, what_of
from windlass.model.rows import Attempt, Json, Run, Task
from windlass.ports.store import Cond, Session, Store

LOOK_MS = 5_000
"""A woken task may have nobody to execute it; after so long the next one is woken as well."""
WAKES_MAX = 256


class Ended(msgspec.Struct):
    """What a pass has ended that concerns limits."""

    settled: list[Attempt | EnvSession | Run] = []
    """Attempts and runs that have ended, and sessions that are gone, which held something."""
    pushed_back: list[tuple[Attempt, int]] = []
    """Attempts whose service wants to be left alone, and for how long."""
    raised: list[tuple[str, int]] = []
    """Budgets that somebody was asked to raise, and by how much that was done; by 0 if whoever
    asked is gone, or was told no."""
    taken: list[Run] = []
    """Runs that go on again, and take their place whether or not there is one."""

    def __bool__(self) -> bool:
        return bool(self.settled or self.pushed_back or self.raised or self.taken)


class Gate:
    """The keys a pass has in hand, as they stand in the middle of it."""

    def __init__(self, rules: Rules, now: int) -> None:
        self._rules = rules
        self._now = now
        self._buckets: dict[str, Bucket] = {}
        self._reserved: dict[str, dict[str, int | None]] = {}
        """By task: the keys of which it has a place, with the amount where it is a budget."""
        self._left: dict[str, dict[str, float | int]] = {}
        self._moved: set[str] = set()
        """Keys of which something was handed out."""

    async def hold(self, session: Session, ended: Ended, keys: Iterable[str]) -> None:
        """Take every key that matters to this pass, and count what has ended."""
        settled = [(holder, held_by(holder)) for holder in ended.settled]
        taken = [key for run in ended.taken for key in held_by(run)]
        pauses = pauses_of(ended.pushed_back, self._now)
        wanted = {*keys, *taken, *pauses, *(key for key, _ in ended.raised)}
        for _, held in settled:
            wanted.update(held)
        missing = sorted(wanted - self._buckets.keys())
        if missing:
            for use in await session.hold([blank(key) for key in missing]):
                self._buckets[use.id] = Bucket(use, self._now)
        for key in taken:
            self._buckets[key].take()
        for holder, held in settled:
            by = holder if isinstance(holder, Attempt) else None
            for key, amount in held.items():
                self._buckets[key].give_back(amount, by)
        for key, more in ended.raised:
            self._buckets[key].spend.raise_by(more)
        for key, until in pauses.items():
            self._buckets[key].pause(until)

    # Waking

    async def to_wake(self, session: Session, probes: Mapping[str, bool]) -> list[Task]:
        """Whoever waits, as many of each key as there is room for, oldest first."""
        wants: dict[str, int] = {}
        left = WAKES_MAX
        for key, bucket in self._buckets.items():
            if bucket.parked and left > 0 and not is_of_runs(key):
                # Who waits where nothing is left has nobody asked yet: one is tried, and asks.
                unasked = bucket.spend.is_spent and not bucket.spend.asked
                free = bucket.wakes or int(probes.get(key, False) or unasked)
                if free:
                    wants[key] = min(free, bucket.parked, left)
                    left -= wants[key]
        if not wants:
            return []
        found = await session.parked(wants)
        counts = Counter(task.parked or "" for task in found)
        for key, want in wants.items():
            bucket = self._buckets[key]
            # Who was cancelled while he waited is gone: fewer than asked for is all there are.
            bucket.parked = bucket.parked - want if counts[key] == want else 0
        return found

    async def runs_to_wake(self, store: Store, probes: Mapping[str, bool]) -> list[QueuedRun]:
        """Runs that wait to begin, as many of each quota as there is room for, in their turn."""
        found: list[QueuedRun] = []
        for key, bucket in self._buckets.items():
            want = bucket.room or int(probes.get(key, False)) if is_of_runs(key) else 0
            want = min(want, bucket.parked, WAKES_MAX)
            if want:
                line = [Cond("parked", "=", key)]
                rows = await store.page(QueuedRun, line, order="turn", limit=want)
                bucket.parked = bucket.parked - want if len(rows) == want else 0
                found += rows
        return found

    # Handing out

    def blocked(self, task: Task) -> str | None:
        """Reserve a task's places; else the limit that has no room, or "" if the pass does not have
        all of its keys in hand and the next one is to try."""
        asks = self._rules.limits_of(task)
        if not asks:
            return None
        held = self._held(asks)
        if held is None:
            return ""
        for bucket, limit in zip(held, asks.values(), strict=True):
            bucket.allow(limit)
        if can_park(task):
            for bucket, limit in zip(held, asks.values(), strict=True):
                if not bucket.has_room(limit):
                    return bucket.stored.id
        if any(bucket.spend.unit for bucket in held):
            self._left[task.id] = left_of(held)
        self._take(task.id, asks)
        return None

    def blocked_run(self, queued: QueuedRun) -> str | None:
        """Reserve a run's places; else the limit that has no room."""
        asks = self._rules.of_run(queued)
        held = self._held(asks)
        assert held is not None, f"the limits of run {queued.id} are not held"
        for bucket, limit in zip(held, asks.values(), strict=True):
            bucket.allow(limit)
            if not bucket.has_room(limit):
                return bucket.stored.id
        self._take(queued.id, asks)
        return None

    def _held(self, asks: Mapping[str, Limit]) -> "list[Bucket] | None":
        held = [self._buckets.get(key) for key in asks]
        return None if None in held else cast("list[Bucket]", held)

    def _take(self, holder: str, asks: Mapping[str, Limit]) -> None:
        taken = {key: self._buckets[key].take_for(limit) for key, limit in asks.items()}
        self._moved.update(asks)
        self._reserved[holder] = taken

    def wanted(self, task: Task) -> EnvResource | None:
        """What a task that was let through gets a place of, instead of being handed out."""
        return self._rules.wanted(task)

    def held(self, task: Task) -> Json:
        """What is reserved for a task's attempt."""
        return write_held(self._reserved.get(task.id, {}))

    def left(self, task: Task) -> Json:
        """What is left of the budgets a task is under, for whoever does it; empty without any."""
        left = self._left.get(task.id)
        return msgspec.json.encode(left).decode() if left else ""

    def not_taken(self, holder: str) -> None:
        """Nobody got the task after all, or the run did not begin: nothing is taken."""
        for key, amount in self._reserved.pop(holder, {}).items():
            self._buckets[key].give_back(amount or 0)

    def question(self, key: str) -> BudgetQuestion | None:
        """What to ask a person, where a task is parked at a budget that only they can raise."""
        spend = self._buckets[key].spend
        if not spend.unit or not spend.is_spent or spend.asked:
            return None
        return BudgetQuestion(key_of(key), spend.budget or 0, spend.total, spend.spent)

    def gone(self, key: str) -> None:
        """Who was woken had ended meanwhile, or waits for something else as well: somebody else's
        turn is now."""
        self._moved.add(key)

    def asked(self, key: str, somebody: bool) -> None:
        """Somebody is asked to raise a budget, or not any more."""
        self._buckets[key].spend.asked = somebody

    def parked(self, key: str) -> None:
        """One more waits for a key."""
        self._buckets[key].parked += 1
        self._buckets[key].used_at = self._now

    # Ending

    def look_soon(self) -> None:
        """This pass wakes nobody: the next one is to."""
        self._moved.update(self._buckets)

    def changed(self) -> dict[str, LimitUse]:
        """The rows to save, each with when to look at it again."""
        rows = {key: bucket.row(self._wake_at(bucket)) for key, bucket in self._buckets.items()}
        return {key: row for key, row in rows.items() if row != self._buckets[key].stored}

    def _wake_at(self, bucket: Bucket) -> int | None:
        if not bucket.parked:
            return None
        key = bucket.stored.id
        if bucket.spend.is_spent and not bucket.spend.asked:
            # Who was woken to ask was gone, or nobody would take it: the next one asks.
            return self._now if key in self._moved else self._now + LOOK_MS
        if not bucket.room or bucket.is_short:
            return bucket.next_at()
        # There is room, and who was woken did not take it: for want of a worker, unless somebody
        # else has just shown that there are some.
        return self._now if key in self._moved else self._now + LOOK_MS


def held_by(holder: Attempt | EnvSession | Run) -> dict[str, int]:
    """What somebody holds, by key."""
    return read_held(holder.quota if isinstance(holder, Run) else holder.limits)


def blank(key: str) -> LimitUse:
    tenant, _, name = key.partition(" ")
    return LimitUse(id=key, tenant=tenant, key=name)


def pauses_of(pushed_back: Sequence[tuple[Attempt, int]], now: int) -> dict[str, int]:
    """Until when which keys are left alone: those an attempt held, else its service's."""
    pauses: dict[str, int] = {}
    for attempt, ms in pushed_back:
        held = read_held(attempt.limits)
        keys = [key for key in held if not is_budget(key) and not is_image_key(key_of(key))]
        if not keys:
            key = service_key(service_of(attempt.queue))
            keys = [limit_id(tenant_of(attempt.queue), key)]
        for key in keys:
            pauses[key] = max(pauses.get(key, 0), now + ms)
    return pauses


def is_of_runs(limit: str) -> bool:
    """Whether runs wait for it, and not tasks."""
    return what_of(key_of(limit)) == RUNS


def is_budget(limit: str) -> bool:
    return bool(unit_of(key_of(limit)))


def left_of(buckets: Iterable[Bucket]) -> dict[str, float | int]:
    """What is left by unit, where it is least."""
    left: dict[str, int] = {}
    for spend in (bucket.spend for bucket in buckets):
        if spend.unit and spend.budget is not None:
            left[spend.unit] = min(left.get(spend.unit, spend.left), spend.left)
    return shown_all({unit: max(0, amount) for unit, amount in left.items()})


def in_turn(found: Sequence[Task], woken: Sequence[Task]) -> list[Task]:
    """Tasks under limits in the order of their turn, woken or not, before the others."""
    if not woken:
        return list(found)
    limited = [*woken, *(task for task in found if task.limits)]
    limited.sort(key=lambda task: (-task.priority, task.ready_at or 0, task.id))
    return [*limited, *(task for task in found if not task.limits)]

"""What a key still allows, and when it will allow more.

A rate is kept in two ways. `next_us` is when the next attempt would begin at an even pace: no more
than the rate go out in the long run. Who was kept waiting by a slow commit may catch up, as that
pace alone would lose what is allowed; so `recent` counts the attempts of the last `per_ms`, in
slices of it, and any `per_ms` sees at most `rate + burst` of them, whichever process's clock says
when.
"""

import msgspec
from msgspec.structs import replace

from windlass.engine.limits.breaker import Breaker
from windlass.engine.limits.spend import Spend
from windlass.model.limits import Limit, LimitUse
from windlass.model.quotas import is_measured
from windlass.model.rows import Attempt

NO_BOUND = 1_000_000_000
_SLICES = 100
_TRIED_AT_ONCE = 16
_LATE_MS_MAX = 500
"""What was not handed out for longer is not made up for: nobody was there to take it."""


class Bucket:
    """One key while it is held: its row, and what a pass does to it."""

    def __init__(self, use: LimitUse, now: int) -> None:
        self.stored = use
        self.now = now
        self.max = use.max
        self.measured = is_measured(use.key)
        self.is_short = False
        """Somebody has found less than he wants."""
        self.spend = Spend(use)
        self.breaker = Breaker(use)
        self._limit: Limit | None = None
        self.in_use = use.in_use
        self.parked = use.parked
        self.paused_until = use.paused_until
        self.used_at = use.used_at
        self._rate, self._per_ms, self._burst = use.rate, use.per_ms, use.burst
        self._next_us = use.next_us
        self._step_us = interval_us(use.rate, use.per_ms)
        self._recent = Recent(use.recent, use.per_ms)
        waits = use.parked and use.wake_at is not None
        self._late_ms = min(max(0, now - use.next_us // 1000), _LATE_MS_MAX) if waits else 0
        """For how long somebody who waits for time to pass has been due, and no commit came."""

    def allow(self, limit: Limit) -> None:
        """This is what the key allows now."""
        if limit is self._limit:
            return
        self._limit = limit
        self.max = limit.max
        self.spend.budget = limit.budget
        if self.breaker.allow(limit):
            self.paused_until, self._next_us = 0, min(self._next_us, self.now * 1000)
        if (self._rate, self._per_ms, self._burst) != (limit.rate, limit.per_ms, limit.burst):
            if self._per_ms != limit.per_ms:
                self._recent = Recent("", limit.per_ms)  # slices of another width
            self._rate, self._per_ms, self._burst = limit.rate, limit.per_ms, limit.burst
            self._step_us = interval_us(limit.rate, limit.per_ms)

    @property
    def places(self) -> int:
        """How many more attempts may be out at once."""
        most = NO_BOUND if self.max is None else self.max
        if self.breaker.tripped:
            most = min(most, 1)  # one is on trial
        return max(0, most - self.in_use)

    @property
    def tokens(self) -> int:
        """How many more attempts may begin now."""
        if not self._rate:
            return NO_BOUND
        early_us = self.now * 1000 + (self._burst - 1) * self._step_us - self._pace_us()
        if early_us < 0:
            return 0
        recent = self._rate + self._burst - self._recent.count(self.now)
        return max(0, min(early_us // self._step_us + 1, recent))

    @property
    def room(self) -> int:
        """How many attempts may be handed out now."""
        if self.paused_until > self.now:
            return 0
        return min(self.places, self.tokens, self.spend.room)

    def has_room(self, limit: Limit) -> bool:
        """Whether one attempt more may be handed out. Of amounts, who finds too little left keeps
        those behind from taking it: the line is kept, and who wants much comes to it."""
        if not self.measured:
            return self.room > 0
        if self.max is not None and limit.estimate > self.max:
            return False  # no end of another helps: nobody need wait behind it
        if self.room < limit.estimate:
            self.is_short = True
        return not self.is_short

    @property
    def wakes(self) -> int:
        """How many of those who wait are worth a try."""
        return min(self.room, _TRIED_AT_ONCE) if self.measured else self.room

    def take_for(self, limit: Limit) -> int | None:
        """Take what an attempt wants of it; the amount, where it is one."""
        if self.measured:
            amount: int | None = limit.estimate
        else:
            amount = self.spend.amount(limit) if self.spend.unit else None
        self.take(amount or 0)
        return amount

    def take(self, amount: int = 0) -> None:
        """One attempt more, which takes so much of a quota or is to use so much of a budget."""
        if self.measured:
            self.in_use += amount
        else:
            self.in_use += 1
            self.spend.reserved += amount
        self.used_at = self.now
        if self._rate:
            self._next_us = self._pace_us() + self._step_us
            self._recent.add(self.now)

    def give_back(self, amount: int = 0, by: Attempt | None = None) -> None:
        """One attempt less. What it took of a rate stays taken: it did begin; and what it used of a
        budget is spent."""
        if self.measured:
            self.in_use = max(0, self.in_use - amount)
            return
        self.in_use = max(0, self.in_use - 1)
        self.spend.settle(amount, 0 if by is None else self.spend.used_by(by))
        if by is not None and self.breaker.ended(by):
            self.pause(self.now + self.breaker.reset_ms)

    def pause(self, until: int) -> None:
        """Its service wants to be left alone."""
        self.paused_until = max(self.paused_until, until)
        self._next_us = max(self._next_us, until * 1000)  # nothing is made up for

    def next_at(self) -> int | None:
        """When an attempt may be handed out again; None if only the end of another can help."""
        if not self.places or self.spend.left <= 0 or self.is_short:
            return None
        at = max(self.now, self.paused_until)
        if self._rate:
            due_us = self._next_us - (self._burst - 1) * self._step_us
            recent = self._recent.room_at(self.now, self._rate + self._burst)
            at = max(at, -(-due_us // 1000), recent)
        return at

    def row(self, wake_at: int | None) -> LimitUse:
        """The row as it is to be saved."""
        return replace(
            self.stored,
            max=self.max,
            rate=self._rate,
            per_ms=self._per_ms,
            burst=self._burst,
            in_use=self.in_use,
            parked=self.parked,
            next_us=self._next_us,
            recent=self._recent.json(),
            paused_until=self.paused_until,
            wake_at=wake_at,
            used_at=self.used_at,
            budget=self.spend.budget,
            raised=self.spend.raised,
            spent=self.spend.spent,
            reserved=self.spend.reserved,
            largest=self.spend.largest,
            asked=int(self.spend.asked),
            trip_after=self.breaker.trip_after,
            reset_ms=self.breaker.reset_ms,
            failures=self.breaker.failures,
            tripped=int(self.breaker.tripped),
        )

    def _pace_us(self) -> int:
        return max(self._next_us, (self.now - self._late_ms) * 1000)


def interval_us(rate: int, per_ms: int) -> int:
    """The even distance between two attempts, rounded up; 0 where there is no rate."""
    return -(-per_ms * 1000 // rate) if rate else 0


class Recent:
    """Attempts of the last `per_ms`, counted by slices of it: the first slice's number, then a
    count for each from there on."""

    def __init__(self, text: str, per_ms: int) -> None:
        self._text = text
        self._changed = False
        self._per_ms = per_ms
        self._width = max(1, per_ms // _SLICES)
        kept = msgspec.json.decode(text, type=list[int]) if text else [0]
        self._first, self._counts = kept[0], kept[1:]
        self._sum = sum(self._counts)

    def json(self) -> str:
        """As a row keeps it; what has not changed stays as it was, whatever has passed since."""
        if self._changed:
            return msgspec.json.encode([self._first, *self._counts]).decode()
        return self._text

    def count(self, now: int) -> int:
        """The attempts of every slice that a `per_ms` up to now touches, and of later ones, which a
        process whose clock is ahead may have counted."""
        passed = (now - self._per_ms) // self._width - self._first
        if passed > 0 and self._counts:
            self._sum -= sum(self._counts[:passed])
            del self._counts[:passed]
            self._first += passed
        return self._sum

    def add(self, now: int) -> None:
        self.count(now)
        slice_ = now // self._width
        if not self._counts:
            self._first = slice_
        elif slice_ < self._first:
            self._counts[:0] = [0] * (self._first - slice_)
            self._first = slice_
        self._counts += [0] * (slice_ - self._first + 1 - len(self._counts))
        self._counts[slice_ - self._first] += 1
        self._sum += 1
        self._changed = True

    def room_at(self, now: int, bound: int) -> int:
        """When the count lets another one begin."""
        over = self.count(now) - bound + 1
        for place, count in enumerate(self._counts if over > 0 else ()):
            over -= count
            if over <= 0:
                return (self._first + place + 1) * self._width + self._per_ms
        return now

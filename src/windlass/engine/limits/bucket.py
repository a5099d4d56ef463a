"""What a key still allows, and when it will allow more: arithmetic on one `LimitUse`.

A rate is kept in two ways. `next_us` is when the next attempt would begin at an even pace: no more
than the rate go out in the long run. Who was kept waiting by a slow commit may catch up, as that
pace alone would lose what is allowed; so `recent` counts the attempts of the last `per_ms`, in
slices of it, and any `per_ms` sees at most `rate + burst` of them, whichever process's clock says
when.
"""

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from windlass.model.limits import Limit, LimitUse

NO_BOUND = 1_000_000_000
_SLICES = 100


def allow(use: LimitUse, limit: Limit) -> LimitUse:
    """The use of a key under what it allows now."""
    allowed = (limit.max, limit.rate, limit.per_ms, limit.burst)
    if (use.max, use.rate, use.per_ms, use.burst) == allowed:
        return use
    # Slices of another width would be counted wrong.
    recent = use.recent if use.per_ms == limit.per_ms else ""
    return replace(
        use,
        max=limit.max,
        rate=limit.rate,
        per_ms=limit.per_ms,
        burst=limit.burst,
        recent=recent,
    )


def places(use: LimitUse) -> int:
    """How many more attempts may be out at once."""
    return NO_BOUND if use.max is None else max(0, use.max - use.in_use)


def room(use: LimitUse, now: int, *, late_ms: int) -> int:
    """How many attempts may be handed out now. `late_ms`: for so long the next has been due, and
    who waits may make up for it."""
    if use.paused_until > now:
        return 0
    return min(places(use), tokens(use, now, late_ms=late_ms))


def tokens(use: LimitUse, now: int, *, late_ms: int) -> int:
    """How many more attempts may begin now."""
    if not use.rate:
        return NO_BOUND
    step = _interval_us(use)
    early_us = now * 1000 + (use.burst - 1) * step - _next_us(use, now, late_ms=late_ms)
    if early_us < 0:
        return 0
    recent = use.rate + use.burst - sum(_Recent(use).since(now))
    return max(0, min(early_us // step + 1, recent))


def taken(use: LimitUse, now: int, *, late_ms: int) -> LimitUse:
    """One attempt more."""
    use = replace(use, in_use=use.in_use + 1, used_at=now)
    if not use.rate:
        return use
    next_us = _next_us(use, now, late_ms=late_ms) + _interval_us(use)
    return replace(use, next_us=next_us, recent=_Recent(use).with_one(now))


def given_back(use: LimitUse) -> LimitUse:
    """One attempt less. What it took of a rate stays taken: it did begin."""
    return replace(use, in_use=max(0, use.in_use - 1))


def late_ms(use: LimitUse, now: int) -> int:
    """For how long somebody who waits for time to pass has been due, and no commit came to hand it
    out."""
    waits = use.parked and use.wake_at is not None
    return max(0, now - use.next_us // 1000) if waits else 0


def forfeit(use: LimitUse, until: int) -> LimitUse:
    """Nobody wanted what was allowed until then, or it was not to be had: it is not made up for."""
    return replace(use, next_us=max(use.next_us, until * 1000))


def next_at(use: LimitUse, now: int) -> int | None:
    """When an attempt may be handed out again; None if only the end of another can help."""
    if not places(use):
        return None
    at = max(now, use.paused_until)
    if use.rate:
        due_us = use.next_us - (use.burst - 1) * _interval_us(use)
        at = max(at, -(-due_us // 1000), _Recent(use).room_at(now))
    return at


def _interval_us(use: LimitUse) -> int:
    """The even distance between two attempts, rounded up."""
    return -(-use.per_ms * 1000 // use.rate)


def _next_us(use: LimitUse, now: int, *, late_ms: int) -> int:
    return max(use.next_us, (now - min(late_ms, use.per_ms)) * 1000)


class _Recent:
    """Attempts of the last `per_ms`, counted by slices of it: the first slice's number, then a
    count for each from there on."""

    def __init__(self, use: LimitUse) -> None:
        self._use = use
        self._width = max(1, use.per_ms // _SLICES)
        kept = msgspec.json.decode(use.recent, type=list[int]) if use.recent else [0]
        self._first, self._counts = kept[0], kept[1:]

    def since(self, now: int) -> Sequence[int]:
        """The counts of every slice that a `per_ms` up to now touches, and of later ones, which a
        process whose clock is ahead may have counted."""
        passed = (now - self._use.per_ms) // self._width - self._first
        return self._counts[max(0, passed) :]

    def with_one(self, now: int) -> str:
        counts = list(self.since(now))
        first = self._first + len(self._counts) - len(counts)
        slice_ = now // self._width
        if not counts:
            first = slice_
        elif slice_ < first:
            counts, first = [0] * (first - slice_) + counts, slice_
        counts += [0] * (slice_ - first + 1 - len(counts))
        counts[slice_ - first] += 1
        return msgspec.json.encode([first, *counts]).decode()

    def room_at(self, now: int) -> int:
        """When the count lets another one begin."""
        counts = self.since(now)
        over = sum(counts) - (self._use.rate + self._use.burst) + 1
        slice_ = self._first + len(self._counts) - len(counts)
        for count in counts if over > 0 else ():
            slice_ += 1
            over -= count
            if over <= 0:
                return slice_ * self._width + self._use.per_ms
        return now

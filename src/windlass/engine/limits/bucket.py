"""What a key still allows, and when it will allow more: arithmetic on one `LimitUse`.

A rate is kept as the time at which the next attempt would begin at an even pace (`next_us`). One
may begin up to `burst` intervals early, less a moment: who comes a little late does not lose his
turn, and still any `per_ms` sees at most `rate + burst` of them, whichever process's clock says so.
"""

from msgspec.structs import replace

from windlass.model.limits import Limit, LimitUse

NO_BOUND = 1_000_000_000


def allow(use: LimitUse, limit: Limit) -> LimitUse:
    """The use of a key under what it allows now."""
    allowed = (limit.max, limit.rate, limit.per_ms, limit.burst)
    if (use.max, use.rate, use.per_ms, use.burst) == allowed:
        return use
    return replace(use, max=limit.max, rate=limit.rate, per_ms=limit.per_ms, burst=limit.burst)


def interval_us(use: LimitUse) -> int:
    """The even distance between two attempts, rounded up; 0 where there is no rate."""
    return -(-use.per_ms * 1000 // use.rate) if use.rate else 0


def places(use: LimitUse) -> int:
    """How many more attempts may be out at once."""
    return NO_BOUND if use.max is None else max(0, use.max - use.in_use)


def tokens(use: LimitUse, now: int) -> int:
    """How many more attempts may begin now."""
    step = interval_us(use)
    if not step:
        return NO_BOUND
    at = now * 1000
    early = at + use.burst * step - 1 - max(use.next_us, at)
    return early // step + 1 if early >= 0 else 0


def room(use: LimitUse, now: int) -> int:
    """How many attempts may be handed out now."""
    return 0 if use.paused_until > now else min(places(use), tokens(use, now))


def taken(use: LimitUse, now: int) -> LimitUse:
    """One attempt more."""
    step = interval_us(use)
    next_us = max(use.next_us, now * 1000) + step if step else use.next_us
    return replace(use, in_use=use.in_use + 1, next_us=next_us, used_at=now)


def given_back(use: LimitUse) -> LimitUse:
    """One attempt less. What it took of a rate stays taken: it did begin."""
    return replace(use, in_use=max(0, use.in_use - 1))


def next_at(use: LimitUse, now: int) -> int | None:
    """When an attempt may be handed out again; None if only the end of another can help."""
    if not places(use):
        return None
    step = interval_us(use)
    due_us = use.next_us - (use.burst * step - 1) if step else 0
    return max(now, use.paused_until, -(-due_us // 1000))

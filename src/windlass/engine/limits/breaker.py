"""Circuit breakers: a service that keeps failing is left alone for a while, then tried once.

Closed, attempts are handed out and failures in a row are counted. So many of them open it: nothing
goes out until its time is over. Then one attempt is on trial (half-open), and closes it or opens it
again. The state is in the key's row, so it is the same for all servers.
"""

from windlass.model.limits import Limit, LimitUse
from windlass.model.rows import Attempt, read_failure
from windlass.model.states import AttemptState

_AGAINST = frozenset({"failed", "timeout", "unreachable"})
"""Failures that say something of the service: one that is fatal is about what it was given, and a
worker that is lost about the worker."""


class Breaker:
    """The part of a key's row that is about its breaker."""

    def __init__(self, use: LimitUse) -> None:
        self.trip_after = use.trip_after
        self.reset_ms = use.reset_ms
        self.failures = use.failures
        self.tripped = bool(use.tripped)

    def allow(self, limit: Limit) -> bool:
        """This is the breaker now; whether one that was open has been taken away."""
        self.trip_after, self.reset_ms = limit.trip_after, limit.reset_ms
        if self.trip_after or not self.tripped:
            return False
        self.failures, self.tripped = 0, False
        return True

    def ended(self, attempt: Attempt) -> bool:
        """Count how an attempt ended; whether that opens the breaker."""
        if not self.trip_after:
            return False
        if attempt.state is AttemptState.SUCCEEDED:
            self.failures, self.tripped = 0, False
            return False
        failure = read_failure(attempt.error)
        if failure is None or failure.kind not in _AGAINST or failure.retry_after_ms:
            return False
        self.failures += 1
        if self.failures < self.trip_after and not self.tripped:
            return False
        self.tripped = True
        return True


def state_of(use: LimitUse, now: int) -> str:
    """`closed`, `open` or `half_open`; empty where there is no breaker."""
    if not use.trip_after:
        return ""
    if not use.tripped:
        return "closed"
    return "open" if use.paused_until > now else "half_open"

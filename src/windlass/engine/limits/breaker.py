"""Circuit breakers: a service, or an image, that keeps failing is left alone for a while, then
tried once.

Closed, attempts are handed out and failures in a row are counted. So many of them open it: nothing
goes out until its time is over. Then one attempt is on trial (half-open), and closes it or opens it
again. The state is in the key's row, so it is the same for all servers.
"""

from windlass.model.limits import Limit, LimitUse, is_image_key
from windlass.model.pods import PodClass
from windlass.model.rows import Attempt, Failure, read_failure
from windlass.model.states import AttemptState

_AGAINST = frozenset({"failed", "timeout", "unreachable"})
"""Failures that say something of the service: one that is fatal is about what it was given, and a
worker that is lost about the worker."""

_HAD = frozenset({PodClass.ERROR, PodClass.OOM, PodClass.DEADLINE})
"""Failures of pods that say that their image could be had."""


class Breaker:
    """The part of a key's row that is about its breaker."""

    def __init__(self, use: LimitUse) -> None:
        self._of_image = is_image_key(use.key)
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
        failure = read_failure(attempt.error)
        if self._speaks_for(attempt, failure):
            self.failures, self.tripped = 0, False
            return False
        if failure is None or not self._speaks_against(failure):
            return False
        self.failures += 1
        if self.failures < self.trip_after and not self.tripped:
            return False
        self.tripped = True
        return True

    def _speaks_for(self, attempt: Attempt, failure: Failure | None) -> bool:
        had = self._of_image and failure is not None and failure.code in _HAD
        return had or attempt.state is AttemptState.SUCCEEDED

    def _speaks_against(self, failure: Failure) -> bool:
        if self._of_image:
            return failure.code == PodClass.IMAGE
        return failure.kind in _AGAINST and not failure.retry_after_ms


def state_of(use: LimitUse, now: int) -> str:
    """`closed`, `open` or `half_open`; empty where there is no breaker."""
    if not use.trip_after:
        return ""
    if not use.tripped:
        return "closed"
    return "open" if use.paused_until > now else "half_open"

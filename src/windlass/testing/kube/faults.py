"""Faults to order: answers that are refused, watches that are cut."""

import threading
from collections import Counter
from dataclasses import dataclass

from windlass.testing.kube.problems import ApiError, expired

_REASONS = {401: "Unauthorized", 403: "Forbidden", 429: "TooManyRequests", 500: "InternalError"}


@dataclass
class _Refusal:
    code: int
    times: int
    verb: str
    retry_after_s: int | None


class Faults:
    """What goes wrong next; ordered by tests, met by requests."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._refusals: list[_Refusal] = []
        self.cut_watches_after_s: float | None = None
        """Each watch loses its connection after so long, in the middle of an answer."""
        self.met: Counter[int] = Counter()
        """How many requests were refused on order, by code."""

    def refuse(
        self, code: int, times: int = 1, verb: str = "", retry_after_s: int | None = None
    ) -> None:
        """Refuse the next requests of a verb (`list`, `watch`, …), or of any; lists of events are
        `events`."""
        with self._lock:
            self._refusals.append(_Refusal(code, times, verb, retry_after_s))

    def clear(self) -> None:
        """Nothing more goes wrong on order."""
        with self._lock:
            self._refusals.clear()

    def meet(self, verb: str) -> None:
        with self._lock:
            for refusal in self._refusals:
                if refusal.times and refusal.verb in ("", verb):
                    refusal.times -= 1
                    self.met[refusal.code] += 1
                    raise _error(refusal)


def _error(refusal: _Refusal) -> ApiError:
    if refusal.code == 410:
        return expired("on order")
    reason = _REASONS.get(refusal.code, "Unknown")
    after = refusal.retry_after_s
    return ApiError(refusal.code, reason, "refused on order", retry_after_s=after)

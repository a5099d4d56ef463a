"""What pods have waited for, as the process that launches them has seen it.

Kubernetes changes its mind about a pod that waits many times, and none of that is an event of its
run. The last of it is kept in memory, for people who ask why a pod took so long to begin.
"""

from collections import OrderedDict
from collections.abc import Mapping

from windlass.model.reasons import Reason

ATTEMPTS_MAX = 2_000
_REASONS_MAX = 20


class PodWaits:
    """Reasons to wait, by attempt: the present one and those before it, each with when it came."""

    def __init__(self) -> None:
        self._past: OrderedDict[str, list[tuple[int, Reason]]] = OrderedDict()

    def note(self, reasons: Mapping[str, Reason], now: int) -> None:
        for attempt, reason in reasons.items():
            past = self._past.setdefault(attempt, [])
            if not past or past[-1][1] != reason:
                past.append((now, reason))
                del past[:-_REASONS_MAX]
        while len(self._past) > ATTEMPTS_MAX:
            self._past.popitem(last=False)

    def of(self, attempt: str) -> list[tuple[int, Reason]]:
        """The oldest first."""
        return list(self._past.get(attempt, ()))

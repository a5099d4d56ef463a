"""Fair shares: what is free goes to tenants by their weights, to each in its own order.

Start-time fair queueing: every tenant has a time of its own that goes on by one over its weight
with each task it is given, and whoever's time is earliest is next. A tenant that had nothing
waiting joins at the time of the one served last, so it neither pays for its absence nor saves
anything up. Tenants without tasks cost nothing, and where there is only one nobody is compared.
"""

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from heapq import heapify, heappop, heapreplace

from windlass.model.queues import is_own, tenant_of
from windlass.model.rows import Task

LOOKED_INTO = 16
"""Queues one pass looks into where several tenants may have something: the ones next in turn."""


class Shares:
    """How far each tenant has come."""

    def __init__(self) -> None:
        self._weights: Mapping[str, int] = {}
        self._times: dict[str, float] = {}
        self._now = 0.0
        self.several = False
        """Whether there is more than one tenant."""

    def weigh(self, weights: Mapping[str, int]) -> None:
        """The tenants there are, and how much each is to get."""
        self._weights = weights
        self.several = len(weights) > 1
        self._times = {name: at for name, at in self._times.items() if name in weights}

    def _time(self, tenant: str) -> float:
        return max(self._now, self._times.get(tenant, 0.0))

    def _step(self, tenant: str) -> float:
        return 1 / max(1, self._weights.get(tenant, 1))

    def order(self, queues: Iterable[str]) -> list[str]:
        """Queues to look into in the order of their tenants' turns; those that only one worker can
        serve first."""
        return sorted(queues, key=lambda queue: (not is_own(queue), self._time(tenant_of(queue))))

    def in_turn(self, tasks: Sequence[Task]) -> Sequence[Task]:
        """Tasks in the order in which their tenants are served; each tenant's as they were."""
        waiting: defaultdict[str, deque[Task]] = defaultdict(deque)
        for task in tasks:
            waiting[tenant_of(task.queue or "")].append(task)
        if len(waiting) < 2:
            return tasks
        line = [(self._time(tenant), tenant) for tenant in waiting]
        heapify(line)
        ordered: list[Task] = []
        while line:
            at, tenant = line[0]
            ordered.append(waiting[tenant].popleft())
            if waiting[tenant]:
                heapreplace(line, (at + self._step(tenant), tenant))
            else:
                heappop(line)
        return ordered

    def served(self, task: Task) -> None:
        """A task was given to somebody."""
        tenant = tenant_of(task.queue or "")
        self._now = self._time(tenant)
        self._times[tenant] = self._now + self._step(tenant)

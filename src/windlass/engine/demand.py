"""Demand: who could execute something right now, and which queued tasks to give them.

Every transport claims in the same way: it says which queues it serves and how many attempts it
can take, and waits. `Demands` knows which queues may hold tasks in the database (the backlog) and
which are known to be empty; a task that becomes ready in an empty queue goes straight to waiting
demand in the commit that makes it ready.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from windlass.engine.limits.gate import Gate
from windlass.engine.shares import LOOKED_INTO, Shares
from windlass.kernel.events import Claim
from windlass.model.assignment import Assignment
from windlass.model.envs import EnvResource
from windlass.model.queues import is_own, service_of
from windlass.model.rows import Json, Task


class Demand:
    """Somebody who waits for work; lives until it is given some or gives up."""

    __slots__ = (
        "answer",
        "caps",
        "given",
        "holder",
        "lease_ms",
        "load",
        "matched",
        "queues",
        "shared",
        "slots",
        "url",
        "worker_id",
    )

    def __init__(
        self,
        worker_id: str,
        queues: Sequence[str],
        slots: int,
        lease_ms: int,
        *,
        holder: str = "",
        url: str = "",
        load: int = 0,
        caps: Mapping[str, int] | None = None,
        shared: Sequence[str] = (),
    ) -> None:
        self.worker_id = worker_id
        self.queues = tuple(queues)
        self.shared = shared
        """Of whoever works for all tenants, the queues as the tenant `default` has them."""
        self.caps = caps or {}
        """Services of which it takes fewer than it has slots."""
        self.slots = slots
        self.lease_ms = lease_ms
        self.holder = holder or worker_id
        self.url = url
        self.load = load
        self.matched = False
        """Whether a pass has ever picked a task for it, which may be on its way."""
        self.given: list[Assignment] = []
        self.answer: asyncio.Future[list[Assignment]] = asyncio.get_running_loop().create_future()

    @property
    def free(self) -> int:
        return self.slots - len(self.given)

    def room(self, queue: str) -> int:
        """How many tasks of a queue it can still take."""
        service = service_of(queue)
        if service not in self.caps:
            return self.free
        given = sum(1 for assignment in self.given if assignment.service == service)
        return min(self.free, self.caps[service] - given)

    def claim(self, task: Task, limits: Json = "", left: Json = "") -> Claim:
        return Claim(task.id, self.worker_id, self.url, self.holder, self.lease_ms, limits, left)


class Matches(msgspec.Struct):
    """Tasks paired with the demand that is to have them."""

    pairs: list[tuple[Demand, Task]]
    left: list[Task]
    blocked: list[tuple[Task, str]] = []
    """Tasks somebody would take that are over a limit, and which."""
    unplaced: list[tuple[Task, EnvResource]] = []
    """Tasks somebody would take that get a place to be done in first."""


class Taken:
    """What one matching has already given to whom."""

    def __init__(self) -> None:
        self._all: defaultdict[int, int] = defaultdict(int)
        self._capped: defaultdict[tuple[int, str], int] = defaultdict(int)

    def room(self, demand: Demand, queue: str) -> int:
        room = demand.free - self._all[id(demand)]
        if demand.caps:
            service = service_of(queue)
            room = min(room, demand.room(queue) - self._capped[id(demand), service])
        return room

    def add(self, demand: Demand, queue: str) -> None:
        self._all[id(demand)] += 1
        if demand.caps:
            self._capped[id(demand), service_of(queue)] += 1


class Demands:
    """All waiting demand of this process."""

    def __init__(self) -> None:
        self._by_queue: defaultdict[str, list[Demand]] = defaultdict(list)
        self._empty: set[str] = set()
        self._promising: dict[str, None] = {}
        """Queues somebody waits for that may hold tasks: all a look has to go through, although a
        large fleet waits for thousands. Whichever was served last comes last."""
        self._skipped: defaultdict[str, set[str]] = defaultdict(set)
        self.shares = Shares()

    def add(self, demand: Demand) -> None:
        for queue in demand.queues:
            self._by_queue[queue].append(demand)
            if queue not in self._empty:
                self._promising[queue] = None

    def drop(self, demand: Demand) -> None:
        for queue in demand.queues:
            waiting = self._by_queue.get(queue, [])
            if demand in waiting:
                waiting.remove(demand)
            if not waiting:
                self._by_queue.pop(queue, None)
                self._promising.pop(queue, None)

    def backlog(self, batch_max: int, ready: Iterable[Task]) -> dict[str, int]:
        """Queues to look into, and how many tasks to take from each.

        `ready` are the tasks that have just become ready. They may have up to three quarters
        of the free slots, so that runs under way finish before new ones begin, with their rows
        still in memory; the rest goes to whoever has waited longest, so that nobody starves.
        """
        if not self._promising:
            return {}
        wants: dict[str, int] = {}
        counts = Counter(task.queue or "" for task in ready)
        # What only one worker can do goes before what others can do as well.
        queues = sorted(self._promising, key=is_own, reverse=True)
        if self.shares.several:
            queues = self.shares.order(self._promising)
        for queue in queues:
            if self.shares.several and len(wants) >= LOOKED_INTO:
                break
            free = sum(max(0, demand.room(queue)) for demand in self._by_queue[queue])
            if free > 0:
                count = min(free - min(counts[queue], free * 3 // 4), batch_max)
                wants[queue] = count + len(self._skipped.get(queue, ()))
        return wants

    @property
    def can_claim(self) -> bool:
        """Whether a look into the database could give anybody anything."""
        return any(
            demand.room(queue) > 0 for queue in self._promising for demand in self._by_queue[queue]
        )

    def looked(self, wants: dict[str, int], found: Iterable[Task]) -> None:
        """Remember which queues turned out to be empty: they gave fewer than were asked for,
        tasks that are passed over included."""
        counts: defaultdict[str, int] = defaultdict(int)
        for task in found:
            counts[task.queue or ""] += 1
        for queue, want in wants.items():
            self._promising.pop(queue, None)
            if counts[queue] < want:
                self._empty.add(queue)
            elif queue in self._by_queue:
                self._promising[queue] = None

    def skip_until_next_look(self, task: Task) -> None:
        """Leave a task alone until the next look at everything: it cannot be claimed as things
        stand, say because only a newer program can read its definition."""
        self._skipped[task.queue or ""].add(task.id)

    def _is_skipped(self, task: Task) -> bool:
        return task.id in self._skipped.get(task.queue or "", ())

    def filled(self, queues: Iterable[str]) -> None:
        """These queues hold tasks again."""
        for queue in queues:
            self._empty.discard(queue)
            if queue in self._by_queue:
                self._promising[queue] = None

    def anything(self) -> None:
        """Nothing is known to be empty any more: another process may have queued tasks."""
        self._empty.clear()
        self._skipped.clear()
        self._promising = dict.fromkeys(self._by_queue)

    def match(self, tasks: Sequence[Task], gate: Gate | None = None) -> Matches:
        """Give each task to the demand with the most room, less what its worker says it carries
        already; away from the worker the task failed on. The gate says whether it may be given."""
        matches = Matches([], [])
        taken = Taken()
        shares = self.shares if self.shares.several else None
        if shares is not None:
            tasks = shares.in_turn(tasks)
        for task in tasks:
            if self._is_skipped(task):
                continue
            queue = task.queue or ""
            best: Demand | None = None
            best_rank = (False, 0)
            for demand in self._by_queue.get(queue, ()):
                room = taken.room(demand, queue)
                if room <= 0:
                    continue
                rank = (demand.worker_id != task.avoid, room - demand.load)
                if best is None or rank > best_rank:
                    best, best_rank = demand, rank
            if best is None:
                matches.left.append(task)
            elif gate is not None and (limit := gate.blocked(task)) is not None:
                if limit:
                    matches.blocked.append((task, limit))
                else:
                    matches.left.append(task)
            elif gate is not None and (resource := gate.wanted(task)) is not None:
                matches.unplaced.append((task, resource))
            else:
                taken.add(best, queue)
                best.matched = True
                if shares is not None:
                    shares.served(task)
                matches.pairs.append((best, task))
        return matches

    def tenants_changed(self, queues_of: Callable[[Sequence[str]], Sequence[str]]) -> None:
        """There is a tenant more: whoever works for all works for it too."""
        waiting = {id(demand): demand for some in self._by_queue.values() for demand in some}
        for demand in waiting.values():
            if demand.shared:
                self.drop(demand)
                demand.queues = tuple(queues_of(demand.shared))
                self.add(demand)

    def serves(self, queue: str) -> bool:
        """Whether anybody here waits for tasks of a queue."""
        return queue in self._by_queue

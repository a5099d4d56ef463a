"""Which jobs the next pass takes: fairly over runs.

Theory of operation. Everybody in a pass waits for all of it, and whoever comes meanwhile waits for
the next. Most runs cost little: their jobs are taken in the order they came. A run that has cost
much of late is *costly*: its jobs wait in a line of its own. While anybody else is about, costly
runs together get a share of the time and each pass takes a little of theirs, that of the cheapest
first; while nobody else is, they get all of it. One that goes round and round is costly long before
one that goes on. Somebody is about while a run that goes on had a
job of late, or several had that have ended or wait since: where runs come and go, the next is soon
to come. After a single one costly runs get all of the time, in passes that are short to wait for,
in case it does. A *large* job holds its pass up for long and
cannot be divided: while others are about a pass takes one at most, and after it there is none for
several times as long, so that others get through in between.

What a run costs is counted, not measured: a process that was stopped for a while must not punish
runs, and the simulator must see the same thing twice. The unit is about a microsecond.
"""

from collections import Counter, deque
from collections.abc import Callable
from heapq import heapify, heappop, heapreplace, nlargest
from itertools import islice

from windlass.engine.jobs import AnyJob, Job, StartJob, WriteJob
from windlass.engine.workspace import LoadedRun
from windlass.kernel.decision import Decision
from windlass.kernel.events import (
    AttemptFailed,
    AttemptStarted,
    AttemptSucceeded,
    LeaseExpired,
    TimerFired,
)
from windlass.model.rows import Task

_IN_TURN = (AttemptFailed, AttemptStarted, AttemptSucceeded, LeaseExpired, TimerFired)
"""What a run's own doing brings."""

_JOB = 300
_TASK = 100
_AGAIN = 12
"""How often a cost counts towards being costly where a run goes round and round."""
_BYTES = 64
"""How many bytes of long values cost as much as one step: they are written several times."""
_SMALL = 2_000
_LONG = 2_000
"""A result that costs so much by its size alone waits in a line: several in one pass hold it up."""
_ONE_IN = 8

_WINDOW_MS = 5_000
_COSTLY = 30_000
"""From what it cost in this window and the one before on a run is costly."""
_EACH = 48
"""How many jobs of one run may wait before it has a line of its own."""
_OTHERS_MS = 200
"""How long after its last job somebody else counts as being about."""
_COME_AND_GO = 2
"""So many that have ended or wait by now are somebody, as one that goes on is."""
_CROWD = 3
"""So many runs are a crowd: nobody is to hold the others up for long."""
_ABOUT_MAX = 1_024
_SHARE = 400
"""What costly runs may cost together, for each millisecond, while others are about."""
_SAVED_UP = 8_000
"""What of their share they may save up, and so the most that one pass takes of small jobs."""
_OWED_MAX = 500_000
_LARGE = 10_000
_LARGE_RESTS = 8
"""How many times as long as a large job there is no other."""
_PASS = 90_000
"""What a pass takes of costly runs while nobody else is about."""
_SHORT_PASS = 77_000
"""And where somebody was, a moment ago."""


class Costs:
    """What each run has cost of late, in two windows, so that forgetting costs nothing."""

    def __init__(self) -> None:
        self.costly: set[str] = set()
        self._now: dict[str, int] = {}
        self._before: dict[str, int] = {}
        self._large: dict[tuple[str, type[object]], int] = {}
        """By run and kind of event, what the last large one cost: a fan-out's slices are large, and
        its results are not."""
        self._until = 0

    def at(self, now: int) -> None:
        """Begin a new window if it is time to."""
        if now >= self._until:
            recent = now < self._until + _WINDOW_MS
            self._before = self._now if recent else {}
            self._now = {}
            self._large = {key: cost for key, cost in self._large.items() if key[0] in self._before}
            self.costly = {run for run, cost in self._before.items() if cost >= _COSTLY}
            self._until = now + _WINDOW_MS

    def add(self, run_id: str, kind: type[object], cost: int, again: bool) -> bool:
        """Add a cost; tells whether the run is costly with it."""
        if cost >= _LARGE:
            self._large[run_id, kind] = cost
        elif cost < _SMALL and not self.costly:
            cost *= _ONE_IN  # it stands for those that were passed over
        if again:
            cost *= _AGAIN
        total = self._now[run_id] = self._now.get(run_id, 0) + cost
        if total + self._before.get(run_id, 0) >= _COSTLY:
            self.costly.add(run_id)
        return run_id in self.costly

    def of(self, run_id: str) -> int:
        return self._now.get(run_id, 0) + self._before.get(run_id, 0)

    def expected(self, run_id: str, kind: type[object]) -> int:
        """What an event of a costly run may cost."""
        return self._large.get((run_id, kind), _JOB)


class JobQueue:
    """Jobs that wait for a pass; those of one run keep their order."""

    def __init__(self, goes_on: Callable[[str], bool]) -> None:
        self._goes_on = goes_on
        """Whether a run has neither ended nor waits for something outside."""
        self._costs = Costs()
        self._passed_over = 0
        self._jobs: deque[AnyJob] = deque()
        """Of runs that cost little, and of none. A run has jobs here or in a line, never both."""
        self._lines: dict[str, deque[AnyJob]] = {}
        self._about: dict[str, int] = {}
        """When runs that cost little last had a job taken, of late."""
        self._recent: set[str] = set()
        """Runs that had a job taken since a moment ago, and those of the moment before."""
        self._recent_before: set[str] = set()
        self._recent_until = 0
        self._credit = 0
        """What costly runs may cost right now while others are about; they may owe some."""
        self._credit_at = 0
        self._large_at = 0
        """When the next large job may be taken while others are about."""

    def __bool__(self) -> bool:
        return bool(self._jobs or self._lines)

    def add(self, job: AnyJob) -> None:
        line = self._lines.get(_run_of(job)) if self._lines else None
        (self._jobs if line is None else line).append(job)

    def decided(self, job: Job | StartJob, decision: Decision, view: LoadedRun) -> None:
        """A job was decided. Of those that cost little one in a few is counted, for all of them,
        while no run is costly: every job of every run comes here."""
        tasks = decision.made.get(Task)
        cost = _JOB + view.steps + view.written // _BYTES
        if tasks is not None:
            cost += _TASK * len(tasks)
        if cost < _SMALL and not self._costs.costly:
            self._passed_over += 1
            if self._passed_over % _ONE_IN:
                return
        self.charge(job, cost, view.goes_round)

    def charge(self, job: Job | StartJob, cost: int, again: bool = False) -> None:
        """A job has cost its run so much, or so much once again."""
        if self._costs.add(job.run_id, type(job.event), cost, again):
            self._credit = max(-_OWED_MAX, self._credit - cost)
        if cost >= _LARGE:
            self._large_at = max(self._large_at, self._credit_at) + cost * _LARGE_RESTS // 1000

    def take(self, count_max: int, now: int) -> list[AnyJob]:
        """The jobs of the next pass: at most so many of runs that cost little, and some of others.
        There is always one, if any job waits and nothing is to rest."""
        self._costs.at(now)
        self._earn(now)
        taken = self._take_cheap(count_max)
        self._note_recent(now)
        for job in taken:
            if not isinstance(job, WriteJob):
                self._about[job.run_id] = now
                self._recent.add(job.run_id)
        if len(self._about) > _ABOUT_MAX:
            late = now - _OTHERS_MS
            self._about = {run: at for run, at in self._about.items() if at > late}
        if self._lines:
            taken += self._take_costly(count_max, now)
        return taken

    @property
    def crowded(self) -> bool:
        """Whether several runs are about, whatever each of them costs."""
        return max(len(self._recent), len(self._recent_before)) >= _CROWD

    def _note_recent(self, now: int) -> None:
        if now >= self._recent_until:
            recent = now < self._recent_until + _OTHERS_MS
            self._recent_before = self._recent if recent else set()
            self._recent = set()
            self._recent_until = now + _OTHERS_MS

    def rest_ms(self, now: int) -> int:
        """How long all that waits had better go on waiting, unless somebody else comes."""
        if self._jobs or not self._lines or not self._shared(now):
            return 0
        self._earn(now)
        owed_ms = 1 - self._credit // _SHARE if self._credit <= 0 else 0
        if now < self._large_at and all(self._next_cost(run) >= _LARGE for run in self._lines):
            owed_ms = max(owed_ms, self._large_at - now)
        return min(owed_ms, self._others_until() - now)

    def _shared(self, now: int) -> bool:
        """Whether anybody but costly runs is about."""
        return now < self._others_until()

    def _others_until(self) -> int:
        """Until when others count as being about. A run that has turned out costly since it last
        had its turn among them is none of them."""
        costly, goes_on = self._costs.costly, self._goes_on
        last = -_OTHERS_MS
        gone: list[int] = []
        for run, at in self._about.items():
            if run in costly:
                continue
            if goes_on(run):
                last = max(last, at)
            else:
                gone.append(at)
        if len(gone) >= _COME_AND_GO:
            last = max(last, nlargest(_COME_AND_GO, gone)[-1])
        return last + _OTHERS_MS

    def _were_about(self, now: int) -> bool:
        """Whether anybody else was about a moment ago."""
        costly, late = self._costs.costly, now - _OTHERS_MS
        return any(at > late and run not in costly for run, at in self._about.items())

    def _earn(self, now: int) -> None:
        earned = max(0, now - self._credit_at) * _SHARE
        self._credit = min(_SAVED_UP, self._credit + earned)
        self._credit_at = now

    def _take_cheap(self, count_max: int) -> list[AnyJob]:
        if len(self._jobs) > _EACH:
            first = Counter(map(_run_of, islice(self._jobs, count_max)))
            for run_id, count in first.most_common(1 + len(first) // _EACH):
                if count > _EACH and run_id:
                    self._open_line(run_id)
        taken: list[AnyJob] = []
        costly = self._costs.costly
        while self._jobs and len(taken) < count_max:
            job = self._jobs[0]
            if (costly and _run_of(job) in costly) or _result_cost(job) >= _LONG:
                self._open_line(job.run_id)
            else:
                taken.append(self._jobs.popleft())
        return taken

    def _open_line(self, run_id: str) -> None:
        self._lines[run_id] = deque(job for job in self._jobs if _run_of(job) == run_id)
        self._jobs = deque(job for job in self._jobs if _run_of(job) != run_id)

    def _next_cost(self, run_id: str) -> int:
        """What the next job of a line may cost."""
        job = self._lines[run_id][0]
        return max(self._costs.expected(run_id, type(job.event)), _result_cost(job))

    def _take_costly(self, count_max: int, now: int) -> list[AnyJob]:
        """Jobs of the runs that have cost least, one after the other, up to a cost."""
        taken: list[AnyJob] = []
        lines, shared = self._lines, self._shared(now)
        alone = _SHORT_PASS if self._were_about(now) else _PASS
        limit = self._credit if shared else alone
        large_left = len(lines) if not shared else int(now >= self._large_at)
        cheapest = [(self._costs.of(run_id), run_id) for run_id in lines]
        heapify(cheapest)
        while cheapest and limit > 0 and len(taken) < count_max:
            cost, run_id = cheapest[0]
            expected = self._next_cost(run_id)
            if expected >= _LARGE:
                if not large_left:
                    heappop(cheapest)
                    continue
                large_left -= 1
            taken.append(lines[run_id].popleft())
            limit -= expected
            if lines[run_id]:
                heapreplace(cheapest, (cost + expected, run_id))
            else:
                del lines[run_id]
                heappop(cheapest)
        return taken


def _result_cost(job: AnyJob) -> int:
    """What a result costs by its size alone."""
    event = job.event
    return len(event.output) // _BYTES if type(event) is AttemptSucceeded else 0


def _run_of(job: AnyJob) -> str:
    """The run whose turn a job waits for; none where it begins one, or somebody asks for it: people
    who cancel a run that takes too much must not wait for its turn."""
    return job.run_id if isinstance(job, Job) and isinstance(job.event, _IN_TURN) else ""

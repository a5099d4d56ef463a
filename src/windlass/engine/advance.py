"""Group commit: the one place where runs move.

Theory of operation. Whatever wants to move a run (a call, a worker's result, a timer) becomes a
job in memory. One task takes all jobs that wait and makes a pass over them: it reads the rows they
need, asks the kernel about each, hands tasks that became ready to demand that waits for them,
saves everything in one transaction and only then answers every caller. While a commit is under way
the next jobs gather, so an idle system commits each job at once and a busy one hundreds together.

When another process got in first (`Raced`), the pass is thrown away with the rows it was built on,
and its jobs are done again one by one under locks. When the connection breaks while saving, nobody
knows whether the commit happened: the pass looks for one of its own events before it tries again.
"""

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, cast

from windlass.engine.demand import Demand, Demands
from windlass.engine.graphs import Graphs
from windlass.engine.jobs import AnyJob, ClaimJob, Job, StartJob, WriteJob
from windlass.engine.loading import load
from windlass.engine.workspace import Batch, RunView, Workspace
from windlass.kernel.decide import NOTHING
from windlass.kernel.events import AttemptFailed
from windlass.kernel.turn import Decision, Limits
from windlass.kernel.view import Missing, Need
from windlass.model.errors import Conflict, Unavailable, WindlassError
from windlass.model.rows import Event, Failure, Idempotency, Row, Run, Task
from windlass.model.states import TaskState
from windlass.ports.store import Raced, Session, Store, Writes

log = logging.getLogger(__name__)

_ROUNDS_MAX = 10_000
"""Every round reads something new, so this bounds only a mistake of ours."""


class Advance:
    """Takes jobs and demand, commits them in groups, tells listeners what was committed."""

    def __init__(
        self,
        store: Store,
        graphs: Graphs,
        limits: Limits | None = None,
        *,
        batch_max: int = 256,
        outage_s: float = 30.0,
    ) -> None:
        self.store = store
        self.graphs = graphs
        self.limits = limits or Limits()
        self.demands = Demands()
        self.listeners: list[Callable[[Writes], None]] = []
        self.on_unserved: list[Callable[[set[str]], None]] = []
        """Told of queues that were given tasks nobody in this process waits for."""
        self.passes = 0
        self.batch_max = batch_max
        self._outage_s = outage_s
        self._workspace = Workspace()
        self._jobs: deque[AnyJob] = deque()
        self._wake = asyncio.Event()

    # Callers

    def submit(self, job: AnyJob) -> None:
        self._jobs.append(job)
        self._wake.set()

    def wait_for_work(self, demand: Demand) -> None:
        """Add demand; its `answer` is resolved with assignments once there are any."""
        self.demands.add(demand)
        self._wake.set()

    def give_back(self, attempt_id: str) -> None:
        """Return work nobody began; if this is lost too, the lease runs out by itself."""
        failure = Failure("returned", "nobody took it")
        self.submit(Job(AttemptFailed(attempt_id, failure)))

    def look_again(self, queues: Iterable[str] | None = None) -> None:
        """Another process may have queued tasks (in these queues, or anywhere)."""
        if queues is None:
            self.demands.anything()
        else:
            self.demands.filled(queues)
        if self.demands.can_claim:
            self._wake.set()

    # The one loop

    async def run(self) -> None:
        """Make passes for ever, each as soon as there is something to do."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._jobs or self.demands.can_claim:
                await self.run_once()

    async def run_once(self) -> int:
        """One pass over what waits; returns how many jobs it answered."""
        jobs = [self._jobs.popleft() for _ in range(min(len(self._jobs), self.batch_max))]
        try:
            await self._commit(jobs, locked=False)
        except Raced:
            await self._one_by_one(jobs)
        except Unavailable as error:
            self._refuse(jobs, error)
            if not jobs:
                # Demand alone brought us here; do not spin on a database that is away.
                self.demands.looked(self.demands.backlog(1, {}), ())
        except Exception:
            log.warning("a pass failed; its jobs are done again one by one", exc_info=True)
            await self._one_by_one(jobs)
            # Claims may be what failed: they wait for the next look, not for us to spin.
            self.demands.looked(self.demands.backlog(1, {}), ())
        return len(jobs)

    async def _one_by_one(self, jobs: Sequence[AnyJob]) -> None:
        self.demands.anything()
        for job in jobs:
            for last in (False, False, False, True):
                try:
                    # Without claims: if one of those is what fails, it must not fail others.
                    await self._commit([job], locked=True, claiming=False)
                    break
                except Raced as error:
                    if last:
                        self._refuse([job], Unavailable(f"too much contention: {error}"))
                except Unavailable as error:
                    self._refuse([job], error)
                    break
                except Exception as error:
                    # Rows read while another process moved the run may contradict each other.
                    if last:
                        log.exception("a job failed")
                        self._refuse([job], error)

    def _refuse(self, jobs: Sequence[AnyJob], error: Exception) -> None:
        for job in jobs:
            if job.answer is not None and not job.answer.done():
                job.answer.set_exception(error)

    # One pass

    async def _commit(self, jobs: Sequence[AnyJob], *, locked: bool, claiming: bool = True) -> None:
        self.passes += 1
        work = Pass(self, locked)
        try:
            async with self.store.session() as session:
                work.session = session
                await work.decide_all(jobs)
                if claiming:
                    await work.claim_all()
                if not work.batch.empty:
                    work.batch.writes.notices = work.notices()
                    await session.save(work.batch.writes)
        except Unavailable:
            if not await self._was_committed(work.batch.writes):
                work.undo()
                raise
        except BaseException:
            work.undo()
            raise
        self._workspace.settle(list(work.touched))
        self._answer([*jobs, *work.claims], work)

    async def _was_committed(self, writes: Writes) -> bool:
        """After a broken connection: look for one of our events, as the commit is all or none."""
        events = writes.made.get(Event)
        if not events:
            return False
        key, mine = next(iter(events.items()))
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._outage_s
        while True:
            try:
                async with self.store.session() as session:
                    found = await session.rows(Event, [key])
                return found == [mine]
            except Unavailable as error:
                if loop.time() > deadline:
                    return False
                await asyncio.sleep(error.retry_after_s)

    def _tell(self, work: "Pass") -> None:
        """Tell listeners. One that fails must not have the jobs done again: they are committed."""
        told = [partial(listener, work.batch.writes) for listener in self.listeners]
        if work.unserved:
            told += [partial(tell, work.unserved) for tell in self.on_unserved]
        for tell in told:
            try:
                tell()
            except Exception:
                log.exception("a listener failed; what it was told stands")

    def _answer(self, jobs: Sequence[AnyJob], work: "Pass") -> None:
        self._tell(work)
        for job in jobs:
            if isinstance(job, ClaimJob):
                continue
            if job.answer is not None and not job.answer.done():
                if isinstance(job.outcome, Exception):
                    job.answer.set_exception(job.outcome)
                else:
                    job.answer.set_result(job.outcome)
        for demand in {id(job.demand): job.demand for job in work.claims}.values():
            if demand.given:
                self.demands.drop(demand)
                if not demand.answer.done():
                    demand.answer.set_result(demand.given)
                else:
                    # It was withdrawn while this pass was being committed.
                    for assignment in demand.given:
                        self.give_back(assignment.attempt_id)

    @property
    def workspace(self) -> Workspace:
        return self._workspace


class Pass:
    """The state of one pass: views it touched, writes it gathered, claims it made."""

    session: Session

    def __init__(self, advance: Advance, locked: bool) -> None:
        self.advance = advance
        self.locked = locked
        self.batch = Batch()
        self.touched: set[str] = set()
        self.claims: list[ClaimJob] = []
        self.unserved: set[str] = set()
        """Queues it leaves tasks in that nobody here waits for."""
        self.now = advance.store.now()

    def undo(self) -> None:
        """Forget every row this pass was built on, and take back what it gave."""
        for run_id in self.touched:
            self.advance.workspace.forget(run_id)
        for job in self.claims:
            job.demand.given.clear()
        self.advance.demands.anything()

    def notices(self) -> list[str]:
        """Queues other processes should look into: those where this pass leaves tasks."""
        queues = {task.queue for task in self.ready() if task.queue}
        return [f"queue {queue}" for queue in sorted(queues)]

    def ready(self) -> list[Task]:
        """Tasks this pass leaves queued."""
        writes = self.batch.writes
        return [
            task
            for rows in (writes.made.get(Task, {}), writes.changed.get(Task, {}))
            for task in cast("dict[str, Task]", rows).values()
            if task.state is TaskState.QUEUED
        ]

    async def decide_all(self, jobs: Sequence[AnyJob]) -> None:
        """Decide every job in order; when rows are missing, read them all at once and go on."""
        pending = list(jobs)
        if self.locked:
            runs = sorted({job.run_id for job in jobs if isinstance(job, Job)})
            if runs:
                await self.session.lock_runs(runs)
        for _ in range(_ROUNDS_MAX):
            needs: list[tuple[RunView, Need]] = []
            blocked: set[str] = set()
            again: list[AnyJob] = []
            for job in pending:
                if isinstance(job, WriteJob):
                    self.batch.add(Decision(dict(job.made), dict(job.changed)), None)
                elif job.run_id in blocked:
                    again.append(job)
                elif (missing := self._decide(job)) is not None:
                    needs += missing
                    blocked.add(job.run_id)
                    again.append(job)
            if not again:
                return
            await load(self.session, self.advance.graphs, needs)
            pending = again
        raise AssertionError("a decision kept asking for more rows")

    def _decide(self, job: Job | StartJob) -> list[tuple[RunView, Need]] | None:
        """Decide one job; returns what has to be read first, or None when it is decided."""
        view = self.advance.workspace.view(job.run_id)
        self.touched.add(job.run_id)
        try:
            decision = self._ask(job, view)
        except Missing as missing:
            needs = [*self._first_needs(job, view, missing.need), *missing.also]
            return [(view, need) for need in needs]
        except WindlassError as error:
            if self._reread(job, view):
                return self._decide(job)
            job.outcome = error
            return None
        except Exception as error:
            if not isinstance(job, ClaimJob):
                raise
            log.exception("task %s cannot be claimed", job.run_id)
            job.outcome = WindlassError(f"cannot be claimed: {error!r}")
            return None
        if decision is NOTHING and self._reread(job, view):
            return self._decide(job)
        job.outcome = decision.answer
        if decision.made or decision.changed or decision.removed:
            self.batch.add(decision, view)
            view.apply(decision)
        if isinstance(job, ClaimJob) and decision.answer is not None:
            job.demand.given.append(decision.answer)
        return None

    def _ask(self, job: Job | StartJob, view: RunView) -> Decision:
        limits = self.advance.limits
        if isinstance(job, StartJob):
            if view.run is not None:
                # The commit of an earlier try did happen after all.
                return Decision(answer=job.run_id)
            if job.key is not None and job.key.key in self.batch.writes.made.get(Idempotency, ()):
                raise Conflict(f'key "{job.key.key}" starts another run at this very moment')
            view.whole = True
            return job.decide(view, self.now, limits)
        run = view.get(Run, job.run_id)
        if run is None:
            # The kernel words the refusal; it reads no graph for a run that is not there.
            return job.decide(self.advance.graphs.none, view, self.now, limits)
        graph = self.advance.graphs.get(run.version_id)
        if graph is None:
            broken = self.advance.graphs.broken(run.version_id)
            raise broken or Missing(Need("graph", run.version_id))
        return job.decide(graph, view, self.now, limits)

    def _first_needs(self, job: Job | StartJob, view: RunView, need: Need) -> list[Need]:
        """What is missing and, for a run not in memory, what the event will ask for next."""
        if isinstance(job, Job) and need.what == "runs":
            return [need, *(n for n in job.needs() if n != need)]
        return [need]

    def _reread(self, job: Job | StartJob, view: RunView) -> bool:
        """A refusal from rows kept in memory may be wrong: forget them and look, once."""
        if view.fresh or job.run_id in self.batch.writes.seqs:
            return False
        self.advance.workspace.forget(job.run_id)
        return True

    # Claims

    async def claim_all(self) -> None:
        """Give waiting demand what is queued, in the database or by this very pass."""
        demands = self.advance.demands
        ready = self.ready()
        counts = Counter(task.queue or "" for task in ready)
        wants = demands.backlog(self.advance.batch_max, counts)
        if wants:
            found = await self.session.queued(wants)
            demands.looked(wants, found)
            await self._claim(found, stored=True)
        left = await self._claim(ready, stored=False)
        queues = {task.queue or "" for task in left}
        demands.filled(queues)
        self.unserved = {queue for queue in queues if not demands.serves(queue)}

    async def _claim(self, tasks: Sequence[Task], *, stored: bool) -> list[Task]:
        matches = self.advance.demands.match(tasks)
        jobs: list[ClaimJob] = []
        for demand, task in matches.pairs:
            job = ClaimJob(demand.claim(task), demand)
            if stored:
                # Touched from here on: if the pass fails now, this row must be forgotten with it.
                self.touched.add(job.run_id)
                self.advance.workspace.view(job.run_id).give(Task, [task.id], [task])
            jobs.append(job)
        self.claims += jobs
        await self.decide_all(jobs)
        for job, (_, task) in zip(jobs, matches.pairs, strict=True):
            if isinstance(job.outcome, WindlassError):
                log.warning("task %s cannot be claimed: %s", task.id, job.outcome)
                self.advance.demands.shun(task)
        return matches.left


def rows_of(*rows: Row) -> dict[type[Row], dict[Any, Row]]:
    """Rows by table and key, as a write takes them."""
    tables: dict[type[Row], dict[Any, Row]] = {}
    for row in rows:
        tables.setdefault(type(row), {})[row.pk] = row
    return tables

"""Group commit: the one place where runs move.

Theory of operation. Whatever wants to move a run (a call, a worker's result, a timer) becomes a
job in memory. One task takes the jobs that wait, fairly over runs (`fairness`), and makes a pass
over them: it reads the rows they need, asks the kernel about each, hands tasks that became ready to
demand that waits for them, saves everything in one transaction and only then answers every caller.
While a commit is under way the next jobs gather, so an idle system commits each job at once and a
busy one hundreds together.

When another process got in first (`Raced`), the pass is thrown away with the rows it was built on,
and its jobs are done again one by one under locks. When the connection breaks while saving, nobody
knows whether the commit happened: the pass looks for one of its own events before it tries again.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from itertools import islice

import msgspec

from windlass.engine.demand import Demand, Demands
from windlass.engine.fairness import JobQueue
from windlass.engine.graphs import Graphs
from windlass.engine.handing_out import HandingOut
from windlass.engine.jobs import AnyJob, ClaimJob, Job, Outdated, WriteJob
from windlass.engine.limits.state import LimitState
from windlass.engine.passes import Pass, Shared
from windlass.engine.workspace import Workspace
from windlass.kernel.bounds import Limits
from windlass.kernel.events import (
    AttemptFailed,
    AttemptStarted,
    AttemptSucceeded,
    Claim,
    LeaseExpired,
    TimerFired,
)
from windlass.model.errors import BadRequest, Conflict, Unavailable
from windlass.model.rows import Event, Failure
from windlass.ports.store import Raced, Store, Taken, Writes

log = logging.getLogger(__name__)

_EVENTS_LOOKED_FOR = 1_000
_INSIDE = (
    AttemptStarted,
    AttemptSucceeded,
    AttemptFailed,
    Claim,
    LeaseExpired,
    TimerFired,
)
"""Events nobody could mend and send again: a run that cannot take one of them cannot go on."""


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
        self.demands = Demands()
        self.workspace = Workspace()
        self._jobs = JobQueue(self.workspace.has)
        self.limiting = LimitState()
        bounds = limits or Limits()
        beside = min(bounds.branches_per_turn, bounds.branches_beside)
        self._shared = Shared(
            store,
            graphs,
            bounds,
            msgspec.structs.replace(bounds, branches_per_turn=beside),
            self.demands,
            self.workspace,
            batch_max,
            self._jobs,
            self.limiting,
        )
        self.listeners: list[Callable[[Writes], None]] = [self.limiting.committed]
        self.on_unserved: list[Callable[[set[str]], None]] = []
        """Told of queues that were given tasks nobody in this process waits for."""
        self.promises: list[Callable[[Writes, int], None]] = []
        """Each adds to a commit what is to be done once it is there."""
        self.prepare: Callable[[], Awaitable[object]] | None = None
        """Done before the first pass."""
        self.passes = 0
        self._waiting_since: float | None = None
        """When the oldest of what waits began to wait, by the monotonic clock."""
        self.batch_max = batch_max
        self._outage_s = outage_s
        self._wake = asyncio.Event()
        self.pass_over = asyncio.Event()
        """Set while no pass is made, and for whoever waits each time one is over."""
        self.pass_over.set()

    # Callers

    def submit(self, job: AnyJob) -> None:
        if self._waiting_since is None:
            self._waiting_since = time.monotonic()
        self._jobs.add(job)
        self._wake.set()

    @property
    def behind_s(self) -> float:
        """For how long something has waited to be committed without any pass coming to an end."""
        since = self._waiting_since
        return 0.0 if since is None else time.monotonic() - since

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
        if not self._wake.is_set() and self.demands.can_claim:
            self._wake.set()

    def look_at_limits(self, keys: Iterable[str], *, probe: bool = False) -> None:
        """Whoever waits for these limits may have his turn; with `probe` one of each is tried,
        whatever the limit allowed when it was last asked for."""
        self.limiting.look_at(dict.fromkeys(keys, probe))
        if self.limiting.due:
            self._wake.set()

    # The one loop

    async def run(self) -> None:
        """Make passes for ever, each as soon as there is something to do."""
        await self._prepared()
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._jobs or self.limiting.due or self.demands.can_claim:
                await self._rest()
                await self.run_once()

    async def _prepared(self) -> None:
        """A process that does not know the limits yet would hand out more than they allow."""
        while self.prepare is not None:
            try:
                await self.prepare()
                return
            except Unavailable as error:
                await asyncio.sleep(error.retry_after_s)

    async def _rest(self) -> None:
        """Where only runs wait that have cost much of late, leave time to those who come next."""
        rest_ms = self._jobs.rest_ms(_loop_ms())
        if rest_ms > 0 and not self.demands.can_claim:
            self._wake.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(rest_ms / 1000):
                    await self._wake.wait()

    async def run_once(self) -> int:
        """One pass over what waits; returns how many jobs it answered."""
        jobs = self._jobs.take(self.batch_max, _loop_ms())
        self.pass_over.clear()
        try:
            await self._commit(jobs, locked=False)
        except Raced:
            await self._one_by_one(jobs)
        except Unavailable as error:
            self._refuse(jobs, error)
            self.limiting.put_off()
            if not jobs:
                # Demand alone brought us here; do not spin on a database that is away.
                self.demands.looked(self.demands.backlog(1, ()), ())
        except Exception as error:
            told = isinstance(error, BadRequest)  # one of its jobs cannot be stored: no mistake
            why = f": {error}" if told else ""
            log.warning(
                "a pass failed; its jobs are done again one by one%s", why, exc_info=not told
            )
            self.limiting.put_off()
            await self._one_by_one(jobs)
            if not jobs:
                # Claims are what failed: they wait for the next look, not for us to spin.
                self.demands.looked(self.demands.backlog(1, ()), ())
        finally:
            self.pass_over.set()
        self._waiting_since = time.monotonic() if self._jobs else None
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
                    if isinstance(job, WriteJob) and job.stands:
                        self._refuse([job], Outdated(str(error)))
                        break
                    if isinstance(error, Taken) and isinstance(job, WriteJob):
                        # Somebody made the same at the same moment; it will be there next time too.
                        self._refuse([job], Conflict("the same was made at this very moment"))
                        break
                    if last:
                        self._refuse([job], Unavailable(f"too much contention: {error}"))
                except Unavailable as error:
                    self._refuse([job], error)
                    break
                except BadRequest as error:
                    await self._give_up(job, error)  # the next time would be no different
                    break
                except Exception as error:
                    # Rows read while another process moved the run may contradict each other.
                    if last:
                        log.exception("a job failed")
                        await self._give_up(job, error)

    async def _give_up(self, job: AnyJob, error: Exception) -> None:
        """A job failed each time, under locks. If its event would only come back, its run ends."""
        if isinstance(job, Job) and isinstance(job.event, _INSIDE):
            job.break_run(error)
            try:
                await self._commit([job], locked=True, claiming=False)
                return
            except Exception:
                log.exception("run %s cannot be ended either", job.run_id)
        self._refuse([job], error)

    def _refuse(self, jobs: Sequence[AnyJob], error: Exception) -> None:
        for job in jobs:
            if job.answer is not None and not job.answer.done():
                job.answer.set_exception(error)

    # One pass

    async def _commit(self, jobs: Sequence[AnyJob], *, locked: bool, claiming: bool = True) -> None:
        self.passes += 1
        work = Pass(self._shared, locked)
        sent = False
        try:
            async with self.store.session() as session:
                work.session = session
                await work.decide_all(jobs)
                if claiming:
                    await HandingOut(work).claim_all()
                else:
                    await HandingOut(work).settle()
                if not work.batch.empty:
                    for promise in self.promises:
                        promise(work.batch.writes, work.now)
                    if self.store.announces:
                        work.batch.writes.notices = work.notices()
                    sent = True
                    await session.save(work.batch.writes)
        except Unavailable:
            # Two processes may decide the very same: what stands there is only ours if we sent it.
            if not (sent and await self._was_committed(work.batch.writes)):
                work.undo()
                raise
        except BaseException:
            work.undo()
            raise
        self.workspace.settle(list(work.touched))
        self._answer([*jobs, *work.claims], work)

    async def _was_committed(self, writes: Writes) -> bool:
        """After a broken connection: look for our events. The commit is all or none, so one would
        do, but that another process has decided the same."""
        mine = dict(islice(writes.made.get(Event, {}).items(), _EVENTS_LOOKED_FOR))
        if not mine:
            return False
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._outage_s
        while True:
            try:
                async with self.store.session() as session:
                    found = await session.rows(Event, list(mine))
                return {event.pk: event for event in found} == mine
            except Unavailable as error:
                if loop.time() > deadline:
                    return False
                await asyncio.sleep(error.retry_after_s)

    def _tell(self, work: Pass) -> None:
        """Tell listeners. One that fails must not have the jobs done again: they are committed."""
        for listener in self.listeners:
            try:
                listener(work.batch.writes)
            except Exception:
                log.exception("a listener failed; what it was told stands")
        if work.unserved:
            self.tell_unserved(work.unserved)

    def tell_unserved(self, queues: set[str]) -> None:
        """Tasks were queued that nobody waited for, here or in another process."""
        for tell in self.on_unserved:
            try:
                tell(queues)
            except Exception:
                log.exception("a listener failed; what it was told stands")

    def _answer(self, jobs: Sequence[AnyJob], work: Pass) -> None:
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


def _loop_ms() -> int:
    """The event loop's time, which goes on while a test has stopped the store's."""
    return int(asyncio.get_running_loop().time() * 1000)

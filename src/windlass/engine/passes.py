"""One pass of the group commit: what it decides, claims and gathers to be saved.

Every job is decided against rows in memory; what is missing is read for all of them at once. What a
run's definition or data may cost is bounded here and in the kernel: a job past its bound ends its
run, and the pass goes on.
"""

import logging
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any, cast

import msgspec

from windlass.engine.demand import Demands
from windlass.engine.fairness import JobQueue
from windlass.engine.graphs import Graphs
from windlass.engine.jobs import AnyJob, ClaimJob, Job, Outdated, StartJob, WriteJob, rows_of
from windlass.engine.limits.gate import Ended
from windlass.engine.limits.state import LimitState
from windlass.engine.loading import load
from windlass.engine.notices import notices_of
from windlass.engine.workspace import Batch, LoadedRun, Workspace
from windlass.kernel.bounds import Limits
from windlass.kernel.decide import decide
from windlass.kernel.decision import NOTHING, Decision
from windlass.kernel.events import (
    BreakRun,
    Claim,
    LeaseExpired,
)
from windlass.kernel.view import Missing, Need, Outgrown
from windlass.model.assignment import Assignment
from windlass.model.errors import Conflict, TooMuchWork, WindlassError
from windlass.model.quotas import QueuedRun
from windlass.model.rows import Idempotency, Row, Run, Task
from windlass.model.states import TaskState
from windlass.ports.store import Session, Store

log = logging.getLogger(__name__)

_ROUNDS_MAX = 10_000
"""Every round reads something new, so this bounds only a mistake of ours."""
_ROUND_STEPS = 20
"""What asking about an event once more costs, in values read."""
_ROUNDS = 4
"""A run that has made so many tasks for each of its nodes goes round and round."""
_CLAIM_TRIES = 3
"""How often, look after look, claiming a task may go wrong in a way nobody foresaw."""
_CLAIM_FAILURES_MAX = 10_000


class Shared(msgspec.Struct):
    """What passes leave to each other: rows in memory, demand that waits, and the bounds."""

    store: Store
    graphs: Graphs
    limits: Limits
    limits_beside: Limits
    """The same while several runs are about."""
    demands: Demands
    workspace: Workspace
    batch_max: int
    jobs: JobQueue
    """Told what deciding a job costs."""
    limiting: LimitState
    """What is known of limits by key."""
    claim_failures: Counter[str] = msgspec.field(default_factory=Counter[str])
    """Tasks whose claim went wrong in a way nobody foresaw, and how often in a row."""


class Pass:
    """The state of one pass: views it touched, writes it gathered, claims it made."""

    session: Session

    def __init__(self, shared: Shared, locked: bool) -> None:
        self.shared = shared
        self.locked = locked
        self.batch = Batch()
        self.touched: set[str] = set()
        self.claims: list[ClaimJob] = []
        self.unserved: set[str] = set()
        """Queues it leaves tasks in that nobody here waits for."""
        self.ended = Ended()
        self.pushed_back = False
        """Whether a service has asked to be left alone."""
        self.due: dict[str, bool] = {}
        """Limits it looks at because their time has come."""
        self.now = shared.store.now()
        self.limits = shared.limits_beside if shared.jobs.crowded else shared.limits

    def undo(self) -> None:
        """Forget every row this pass was built on, and take back what it gave."""
        for run_id in self.touched:
            self.shared.workspace.forget(run_id)
        for job in self.claims:
            job.demand.given.clear()
        self.shared.limiting.look_at(self.due)
        self.shared.demands.anything()

    def notices(self) -> list[str]:
        """What other processes should hear: where this pass leaves tasks, and what it moved."""
        queues = {task.queue for task in self.ready() if task.queue}
        notices = notices_of(self.batch.writes, queues)
        return [*notices, "limits"] if self.pushed_back else notices

    def ready(self) -> list[Task]:
        """Tasks this pass leaves queued."""
        writes = self.batch.writes
        # `Task.claimable`, written out: every task of every pass comes by here, twice.
        return [
            task
            for rows in (writes.made.get(Task, {}), writes.changed.get(Task, {}))
            for task in cast("dict[str, Task]", rows).values()
            if task.state is TaskState.QUEUED
            or (task.state is TaskState.VERIFYING and task.queue is not None)
        ]

    async def decide_all(self, jobs: Sequence[AnyJob]) -> None:
        """Decide every job in order; when rows are missing, read them all at once and go on."""
        pending: list[AnyJob] = await self._standing(jobs)
        if self.locked:
            runs = sorted({job.run_id for job in jobs if isinstance(job, Job)})
            if runs:
                await self.session.lock_runs(runs)
        for _ in range(_ROUNDS_MAX):
            needs: list[tuple[LoadedRun, Need]] = []
            blocked: set[str] = set()
            again: list[AnyJob] = []
            for job in pending:
                if isinstance(job, WriteJob):
                    self._write(job)
                elif job.run_id in blocked:
                    again.append(job)
                elif (missing := self._decide(job)) is not None:
                    needs += missing
                    blocked.add(job.run_id)
                    again.append(job)
            if not again:
                return
            await load(self.session, self.shared.graphs, needs)
            pending = again
        raise AssertionError("a decision kept asking for more rows")

    async def _standing(self, jobs: Sequence[AnyJob]) -> list[AnyJob]:
        """The jobs without those whose rows have changed since they were read. A save would find
        out too, but for all of them, and one stale sign of life must not have a hundred others
        done again."""
        guarded = [job for job in jobs if isinstance(job, WriteJob) and job.stands]
        if not guarded:
            return list(jobs)
        keys: defaultdict[type[Row], set[Any]] = defaultdict(set)
        for job in guarded:
            for table, rows in job.stands.items():
                keys[table] |= rows.keys()
        found = {
            table: {row.pk: row for row in await self.session.rows(table, list(some))}
            for table, some in keys.items()
        }
        for job in guarded:
            for table, rows in job.stands.items():
                if any(found[table].get(key) != row for key, row in rows.items()):
                    job.outcome = Outdated(f"a row of {table.TABLE} has changed since it was read")
        return [job for job in jobs if not isinstance(job.outcome, Outdated)]

    def _write(self, job: WriteJob) -> None:
        writes = self.batch.writes
        for table, rows in job.stands.items():
            here = (writes.changed.get(table, {}), writes.made.get(table, {}))
            if not all(rows.keys().isdisjoint(some) for some in here):
                job.outcome = Outdated(f"a row of {table.TABLE} changes in this very commit")
                return
        if self.batch.makes(job.made):
            job.outcome = Conflict("the same is made in this very moment")
            return
        for table, rows in job.stands.items():
            writes.stands.setdefault(table, {}).update(rows)
            writes.was.setdefault(table, {}).update(rows)
        removed = {table: set(keys) for table, keys in job.removed.items() if keys}
        self.batch.add(Decision(dict(job.made), dict(job.changed), removed), None)

    def _decide(self, job: Job | StartJob) -> list[tuple[LoadedRun, Need]] | None:
        """Decide one job; returns what has to be read first, or None when it is decided."""
        view = self.shared.workspace.view(job.run_id)
        self.touched.add(job.run_id)
        try:
            decision = self._ask(job, view)
        except Missing as missing:
            view.steps += _ROUND_STEPS
            needs = [*self._first_needs(job, view, missing.need), *missing.also]
            return [(view, need) for need in needs]
        except Outgrown as error:
            if self._reread(job, view):
                return self._decide(job)
            if not isinstance(job, ClaimJob):
                raise
            job.outcome = Conflict(str(error))
            return None
        except TooMuchWork as error:
            self.shared.jobs.charge(job, view.steps)
            view.steps = view.written = 0
            if isinstance(job, Job) and not isinstance(job.event, BreakRun):
                job.break_run(error)
                return self._decide(job)
            job.outcome = error
            return None
        except WindlassError as error:
            if self._reread(job, view):
                return self._decide(job)
            job.outcome = error
            return None
        except Exception as error:
            # Rows kept in memory and rows just read may contradict each other.
            if self._reread(job, view):
                return self._decide(job)
            if not isinstance(job, ClaimJob):
                raise
            if not view.fresh:
                # Something of the run was decided here already, on rows that may be old: if they
                # are, saving finds out. If not, the next pass looks with fresh eyes.
                view.doubted = True
                job.outcome = Conflict(f"cannot be claimed by what is in memory: {error!r}")
                return None
            log.exception("a task of run %s cannot be claimed", job.run_id)
            return self._claim_failed(job, error)
        self.shared.jobs.decided(job, decision, view)
        view.steps = view.written = 0
        if view.heavy:
            self.shared.workspace.decided(view)
        if decision is NOTHING and self._reread(job, view):
            return self._decide(job)
        job.outcome = decision.answer
        if decision.made or decision.changed or decision.removed:
            along = rows_of(*job.along) if job.along else {}
            if along and self.batch.makes(along):
                job.outcome = Conflict("the same is said in this very moment")
                return None
            self.batch.add(decision, view)
            if decision.settled or decision.pushed_back or decision.raised or decision.taken:
                self.ended.settled += decision.settled
                self.ended.taken += decision.taken
                self.ended.pushed_back += decision.pushed_back
                self.ended.raised += decision.raised
            if along:
                self.batch.add(Decision(along), None)
            if isinstance(job, Job) and isinstance(job.event, LeaseExpired):
                self.batch.writes.expired[job.event.attempt_id] = self.now
        if isinstance(job, ClaimJob) and isinstance(decision.answer, Assignment):
            job.demand.given.append(decision.answer)
        return None

    def _claim_failed(self, job: ClaimJob, error: Exception) -> list[tuple[LoadedRun, Need]] | None:
        """Rows in memory may contradict each other once; a task that can never be claimed would
        stand in its queue for ever, so after some looks its run ends."""
        failures = self.shared.claim_failures
        assert isinstance(job.event, Claim)
        task_id = job.event.task_id
        failures[task_id] += 1
        if failures[task_id] >= _CLAIM_TRIES:
            del failures[task_id]
            job.break_run(error)
            return self._decide(job)
        if len(failures) > _CLAIM_FAILURES_MAX:
            failures.clear()
        self.shared.workspace.forget(job.run_id)
        job.outcome = WindlassError(f"cannot be claimed: {error!r}")
        return None

    def _ask(self, job: Job | StartJob, view: LoadedRun) -> Decision:
        limits = self.limits
        if isinstance(job, StartJob):
            if view.run is not None:
                # The commit of an earlier try did happen after all.
                return Decision(answer=job.run_id)
            if job.key is not None and job.key.key in self.batch.writes.made.get(Idempotency, ()):
                raise Conflict(f'key "{job.key.key}" starts another run at this very moment')
            view.whole = True
            view.weigh(job.event.run)
            return job.decide(view, self.now, limits)
        run = job.run_of(view)
        graph = view.graph_at(run.graph_rev) or self.shared.graphs.of_run(run)
        if graph is None:
            broken = self.shared.graphs.broken(run.version_id)
            raise broken or Missing(Need("graph", run))
        view.goes_round = run.made > _ROUNDS * len(graph.nodes)
        return decide(graph, view, run, job.event, self.now, limits)

    def _first_needs(self, job: Job | StartJob, view: LoadedRun, need: Need) -> list[Need]:
        """What is missing and, for a run not in memory, what the event will ask for next."""
        if isinstance(job, Job) and need.what == "runs":
            return [need, *(n for n in job.needs() if n != need)]
        return [need]

    def _reread(self, job: Job | StartJob, view: LoadedRun) -> bool:
        """A refusal from rows kept in memory may be wrong: forget them and look, once."""
        if view.fresh or job.run_id in self.batch.writes.seqs:
            return False
        self.shared.workspace.forget(job.run_id)
        return True

    # What handing out goes by

    def give(self, task: Task) -> None:
        """Take a task that was read into memory. Its run is touched from here on: if the pass fails
        now, this row must be forgotten with it. Nothing but the run's `seq` tells that it has moved
        since, so it is given only where the run was read before it: in another pass, as one read in
        this pass may have been read since."""
        self.touched.add(task.run_id)
        view = self.shared.workspace.view(task.run_id)
        if view.run is None:
            return
        if view.tables[Task].get(task.id) is not None:
            self.doubt(task, task.run_id)
        elif not view.fresh:
            view.give_task(task)

    def doubt(self, row: Row, run_id: str) -> bool:
        """Forget what is in memory of a run that a row just read shows to be of an earlier moment,
        be it of this very pass: what is decided by that may change nothing of the run, and no save
        would find it out. Where the pass has moved the run, saving tells."""
        writes = self.batch.writes
        known = self.shared.workspace.view(run_id).tables[type(row)]
        if known.get(row.pk, row) == row:
            return False
        if run_id in writes.seqs or run_id in writes.made.get(Run, ()):
            return False
        self.shared.workspace.forget(run_id)
        return True

    def take_ended(self) -> Ended:
        """What has ended since this was last asked for."""
        ended, self.ended = self.ended, Ended()
        self.pushed_back = self.pushed_back or bool(ended.pushed_back)
        return ended

    def starting(self) -> list[QueuedRun]:
        """Runs of this pass that wait to begin."""
        made = self.batch.writes.made.get(QueuedRun, {})
        return list(cast("dict[str, QueuedRun]", made).values())

"""Handing out: the second half of a pass, which gives waiting demand what is ready.

Jobs are decided first. Then tasks that are ready, in the database or by this very pass, are matched
with demand; the gate of the pass says which of them, and which runs that have yet to begin, their
limits let through.
"""

import logging
from collections.abc import Sequence
from typing import cast

import msgspec

from windlass.engine.jobs import ClaimJob, Job
from windlass.engine.limits.gate import Ended, Gate, in_turn
from windlass.engine.limits.rules import is_retry
from windlass.engine.passes import Pass
from windlass.engine.profiles import profiles_served
from windlass.kernel.decision import Decision
from windlass.kernel.events import BeginRun, EnvReserved, ParkRun, ParkTask, WakeTask
from windlass.model.assignment import Assignment
from windlass.model.envs import EnvResource
from windlass.model.errors import WindlassError
from windlass.model.graph import Kind
from windlass.model.limits import LimitUse, read_held
from windlass.model.queues import tenant_of
from windlass.model.quotas import QueuedRun
from windlass.model.rows import Task

log = logging.getLogger(__name__)


class HandingOut:
    """What a pass hands out, begins and parks."""

    def __init__(self, work: Pass) -> None:
        self._work = work
        self._woken: dict[str, str] = {}
        """By task: the limit it has waited for."""

    async def claim_all(self) -> None:
        """Give waiting demand what is queued, in the database or by this very pass."""
        demands = self._work.shared.demands
        ready = self._work.ready()
        wants = demands.backlog(self._work.shared.batch_max, ready)
        found: list[Task] = []
        if wants:
            found = await self._work.session.queued(wants)
            demands.looked(wants, found)
            # What this pass has moved is no longer where it was read. If it can be claimed, it is
            # among what is ready.
            moved = self._work.batch.writes.changed.get(Task, {})
            found = [task for task in found if task.id not in moved]
        gate = await self._gate(found, ready)
        if gate is not None:
            found = in_turn(found, await self._wake(gate))
            ready += await self._begin_runs(gate)
        if demands.shares.several:
            # Of several tenants none goes first because what it has waits for longer.
            found, ready = [*found, *ready], []
        # What was found is left where others took the slots that it was looked for: its queue gave
        # fewer than were asked for, and is not empty all the same.
        left = await self._claim(found, gate, stored=True) if found else []
        left += await self._claim(ready, gate, stored=False)
        if self._work.ended:
            # What was handed out, or begun, has ended something on its way.
            gate = gate or Gate(self._work.shared.limiting.rules, self._work.now)
            await gate.hold(self._work.session, self._work.take_ended(), ())
            gate.look_soon()
        if gate is not None:
            self._save_limits(gate)
        if left:
            queues = {task.queue or "" for task in left}
            demands.filled(queues)
            self._work.unserved = {queue for queue in queues if not demands.serves(queue)}

    async def _claim(self, tasks: Sequence[Task], gate: Gate | None, *, stored: bool) -> list[Task]:
        matches = self._work.shared.demands.match(tasks, gate)
        jobs: list[ClaimJob] = []
        for demand, task in matches.pairs:
            held = ("", "") if gate is None else (gate.held(task), gate.left(task))
            claim = demand.claim(task, *held)
            if task.kind == Kind.PLAN:
                served = await profiles_served(self._work.shared.store, tenant_of(task.queue or ""))
                envs = self._work.shared.limiting.rules.resources(tenant_of(task.queue or ""))
                claim = msgspec.structs.replace(claim, profiles=served, envs=envs)
            job = ClaimJob(claim, demand)
            if stored:
                self._work.give(task)
            jobs.append(job)
        self._work.claims += jobs
        await self._work.decide_all(jobs)
        for job, (_, task) in zip(jobs, matches.pairs, strict=True):
            if isinstance(job.outcome, WindlassError):
                log.warning("task %s cannot be claimed: %s", task.id, job.outcome)
                self._work.shared.demands.skip_until_next_look(task)
            if gate is not None and not isinstance(job.outcome, Assignment):
                gate.not_taken(task.id)
        if gate is not None and matches.blocked:
            await self._park(gate, matches.blocked)
        if gate is not None and matches.unplaced:
            await self._reserve(gate, matches.unplaced)
        return matches.left

    # Limits

    async def settle(self) -> None:
        """Give back what has ended, without claiming anything."""
        starting = self._work.starting()
        if self._work.ended or starting:
            gate = Gate(self._work.shared.limiting.rules, self._work.now)
            keys = [key for queued in starting for key in read_held(queued.limits)]
            await gate.hold(self._work.session, self._work.take_ended(), keys)
            for queued in starting:
                gate.parked(queued.parked)
            gate.look_soon()
            self._save_limits(gate)

    async def _gate(self, found: Sequence[Task], ready: Sequence[Task]) -> Gate | None:
        """The limits of this pass; None where there are none, which costs next to nothing."""
        limiting, demands = self._work.shared.limiting, self._work.shared.demands
        if limiting.due:
            self._work.due = limiting.take_due()
        every, retries = limiting.rules.implied, limiting.rules.on_retries
        limited = [task for task in found if task.limits or every or (retries and is_retry(task))]
        limited += [
            task
            for task in ready
            if (task.limits or every or (retries and is_retry(task)))
            and demands.serves(task.queue or "")
        ]
        starting = self._work.starting()
        if not (limited or self._work.ended or self._work.due or starting):
            return None
        keys = set(self._work.due)
        for task in limited:
            keys.update(limiting.rules.limits_of(task))
        for queued in starting:
            keys.update(read_held(queued.limits))
        gate = Gate(limiting.rules, self._work.now)
        await gate.hold(self._work.session, self._work.take_ended(), keys)
        return gate

    async def _wake(self, gate: Gate) -> list[Task]:
        """Put those whose turn it is at a limit back into their queues."""
        parked = await gate.to_wake(self._work.session, self._work.due)
        jobs = [Job(WakeTask(task.id)) for task in parked]
        for task in parked:
            self._work.give(task)
        await self._work.decide_all(jobs)
        woken: list[Task] = []
        for job, before in zip(jobs, parked, strict=True):
            queued = self._work.shared.workspace.view(job.run_id).get(Task, before.id)
            if job.outcome is True and queued is not None:
                woken.append(queued)
                self._woken[queued.id] = before.parked or ""
            else:
                gate.gone(before.parked or "")
            if before.wait_key and before.parked:
                gate.asked(before.parked, False)
        return woken

    async def _begin_runs(self, gate: Gate) -> list[Task]:
        """Let runs begin that there is a place for; what of theirs is ready to be handed out."""
        woken = await gate.runs_to_wake(self._work.shared.store, self._work.due)
        moved = self._work.batch.writes.changed.get(QueuedRun, {})
        woken = [row for row in woken if row.id not in moved]
        for row in woken:
            self._work.doubt(row, row.id)
        line = [*self._work.starting(), *woken]
        # A run that was woken may be under a quota that this pass has not in hand.
        await gate.hold(
            self._work.session, Ended(), {k for row in line for k in read_held(row.limits)}
        )
        begun: list[Job] = []
        parked: list[Job] = []
        for queued in sorted(line, key=lambda row: row.turn):
            limit = gate.blocked_run(queued)
            if limit is None:
                begun.append(Job(BeginRun(queued.id)))
                continue
            gate.parked(limit)
            if limit != queued.parked:
                gate.gone(queued.parked)
                parked.append(Job(ParkRun(queued.id, limit)))
        await self._work.decide_all([*begun, *parked])
        for job in begun:
            if job.outcome is not True:
                gate.not_taken(job.run_id)
        ids = {job.run_id for job in begun}
        return [task for task in self._work.ready() if task.run_id in ids]

    async def _park(self, gate: Gate, blocked: Sequence[tuple[Task, str]]) -> None:
        jobs: list[Job] = []
        for task, limit in blocked:
            self._work.give(task)
            question = gate.question(limit)
            if question is not None:
                gate.asked(limit, True)
            jobs.append(Job(ParkTask(task.id, limit, question)))
        await self._work.decide_all(jobs)
        for job, (task, limit) in zip(jobs, blocked, strict=True):
            if job.outcome is True:
                gate.parked(limit)
                if self._woken.get(task.id, limit) != limit:
                    gate.gone(self._woken[task.id])
            elif cast(ParkTask, job.event).question is not None:
                gate.asked(limit, False)

    async def _reserve(self, gate: Gate, tasks: Sequence[tuple[Task, EnvResource]]) -> None:
        """Begin what tasks need to be handed out: a place to be done in."""
        jobs: list[Job] = []
        for task, resource in tasks:
            self._work.give(task)
            event = EnvReserved(task.id, resource.id, resource.kind, gate.held(task))
            jobs.append(Job(event))
        await self._work.decide_all(jobs)
        for job, (task, _) in zip(jobs, tasks, strict=True):
            if job.outcome is not True:
                gate.not_taken(task.id)

    def _save_limits(self, gate: Gate) -> None:
        rows = gate.changed()
        if rows:
            self._work.batch.add(Decision({LimitUse: dict(rows)}), None)

"""Limits by key: what is in use is what live attempts hold, never more than a key allows, and
whoever waits for one will be looked at again."""

from bisect import bisect_left, bisect_right, insort
from collections import Counter, defaultdict
from typing import cast

from windlass.model.envs import EnvSession, EnvState, is_env_key
from windlass.model.limits import LimitUse, read_held
from windlass.model.quotas import QueuedRun, is_queued
from windlass.model.rows import Attempt, Run, Task
from windlass.model.states import RUN_ENDED, Role
from windlass.testing.memory import Commit, MemoryDatabase
from windlass.testing.simulator.checks.rows import expect


class LimitChecks:
    """Remembers when attempts of each key began, which no row says for long."""

    def __init__(self, database: MemoryDatabase) -> None:
        self._db = database
        self._began: defaultdict[str, list[int]] = defaultdict(list)

    def check(self, commit: Commit) -> None:
        touched = False
        began: defaultdict[str, list[Attempt]] = defaultdict(list)
        for table, _, old, new in commit.changes:
            if table is Attempt and old is None and new is not None:
                self._begins(cast(Attempt, new))
                for key in read_held(cast(Attempt, new).limits):
                    began[key].append(cast(Attempt, new))
            touched |= table in (Attempt, LimitUse, Task, EnvSession, QueuedRun)
        for key, attempts in began.items():
            self._within_budget(self._db.table(LimitUse)[key], attempts)
        if touched:
            self._in_use()

    def _begins(self, attempt: Attempt) -> None:
        for key in read_held(attempt.limits):
            use = self._db.table(LimitUse)[key]
            trial = not use.tripped or use.in_use <= 1
            expect(trial, f"{use.in_use} of {key} are out, whose breaker lets one be tried")
            times = self._began[key]
            insort(times, attempt.claimed_at)
            if use.rate:
                most = most_in(times, attempt.claimed_at, use.per_ms)
                bound = use.rate + use.burst
                expect(most <= bound, f"{most} of {key} began in {use.per_ms} ms, not {bound}")

    def _within_budget(self, use: LimitUse, began: list[Attempt]) -> None:
        """All but the last of what was handed out fits in; plans and verdicts are only counted."""
        if use.budget is None or any(attempt.role is not Role.WORK for attempt in began):
            return
        last = max(read_held(attempt.limits)[use.id] for attempt in began)
        taken = use.spent + use.reserved - last
        expect(
            taken < total(use) or not last, f"{taken} of {use.id} were gone, {total(use)} may be"
        )

    def _spent(self, use: LimitUse) -> None:
        """What is reserved is what live attempts are expected to use."""
        amounts = (read_held(attempt.limits).get(use.id, 0) for attempt in self._db.live_attempts)
        reserved = sum(amounts) if use.reserved or use.budget is not None else 0
        expect(
            use.reserved == reserved,
            f"{use.reserved} of {use.id} are reserved, live attempts have {reserved}",
        )

    def _in_use(self) -> None:
        queued: defaultdict[str, list[str]] = defaultdict(list)
        for row in self._db.table(QueuedRun).values():
            queued[row.parked].append(row.id)
            run = self._db.table(Run)[row.id]
            expect(is_queued(run), f"run {run.id} is {run.state} and waits to begin")
        held = Counter(
            key for attempt in self._db.live_attempts for key in read_held(attempt.limits)
        )
        for session in self._db.table(EnvSession).values():
            if session.state is not EnvState.RELEASED:
                held.update(list(read_held(session.limits)))
        for run in self._db.table(Run).values():
            in_line = not is_queued(run) or run.id in self._db.table(QueuedRun)
            expect(in_line, f"run {run.id} is to begin and stands in no line")
        goes_on = [run for run in self._db.table(Run).values() if holds_place(run)]
        for run in goes_on:
            held.update(list(read_held(run.quota)))
        uses = self._db.table(LimitUse)
        for key, count in held.items():
            expect(key in uses, f"{count} attempts hold {key}, of which nobody knows")
        for use in uses.values():
            expect(
                use.in_use == held[use.id],
                f"{use.in_use} of {use.id} are in use, {held[use.id]} attempts hold it",
            )
            self._spent(use)
            # How many places a resource has is looked at when one is made: it may have had more,
            # and a process that has just begun knows of none.
            # A run that goes on again, or is made of another, is counted and does not wait.
            more = sum(1 for run in goes_on if run.generation and use.id in read_held(run.quota))
            most = None if use.max is None else use.max + more
            over = most is not None and use.in_use > most and not is_env_key(use.key)
            expect(not over, f"{use.in_use} of {use.id} are in use, {most} may be")
            waiting = len(list(self._db.parked(use.id))) + len(queued[use.id])
            expect(waiting <= use.parked, f"{waiting} wait for {use.id}, it counts {use.parked}")
            freed = use.wake_at is not None or (use.max is not None and use.in_use >= use.max)
            freed |= bool(use.tripped and use.in_use)
            if use.budget is not None:
                freed |= bool(use.asked or (use.in_use and use.spent + use.reserved >= total(use)))
            expect(not waiting or freed, f"{waiting} wait for {use.id} and nothing wakes them")


def holds_place(run: Run) -> bool:
    """Whether a run has begun and not ended, and so counts against its quota."""
    return bool(run.quota) and run.started_at is not None and run.state not in RUN_ENDED


def total(use: LimitUse) -> int:
    return (use.budget or 0) + use.raised


def most_in(times: list[int], at: int, span: int) -> int:
    """The most of some times in any span that has `at` in it."""
    first, last = bisect_left(times, at - span), bisect_right(times, at)
    return max(bisect_right(times, times[n] + span) - n for n in range(first, last))

"""Jobs: what waits to be decided and committed, each with the caller who waits for it."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from windlass.engine.demand import Demand
from windlass.kernel.bounds import Limits
from windlass.kernel.decide import run_id_of, start
from windlass.kernel.decision import Decision
from windlass.kernel.events import (
    ActionBegan,
    ActionEnded,
    AttemptDetached,
    AttemptFailed,
    AttemptStarted,
    AttemptSucceeded,
    BoardWritten,
    BreakRun,
    BriefAsked,
    CheckpointAnswered,
    Claim,
    EnvAllocated,
    EnvGivenUp,
    EnvRefused,
    EnvReleased,
    EnvReserved,
    EnvSeen,
    ForkRun,
    LeaseExpired,
    NextRequested,
    ParkTask,
    PodObserved,
    RunEvent,
    StartRun,
    TimerFired,
    WakeTask,
)
from windlass.kernel.fork import fork
from windlass.kernel.view import Need, View
from windlass.model.errors import NotFound, WindlassError
from windlass.model.graph import Graph
from windlass.model.ids import scope_of, task_of
from windlass.model.rows import Failure, Idempotency, Row, Run
from windlass.model.tenants import ALL

_DEPTH_MAX = 200
_REASON_CHARS_MAX = 500


class Job:
    """An event for a run that exists, and whoever waits for its outcome."""

    __slots__ = ("along", "answer", "event", "outcome", "run_id", "tenant")

    def __init__(
        self,
        event: RunEvent,
        answer: "asyncio.Future[Any] | None" = None,
        along: Sequence[Row] = (),
        tenant: str = ALL,
    ) -> None:
        self.tenant = tenant
        """Who says it: to anybody else's run it is not there."""
        self.along = along
        """Rows that belong to what the event says: made in its commit, if it counts."""
        self.event: RunEvent = event
        self.run_id = run_id_of(event)
        self.answer = answer
        self.outcome: Any = None

    def run_of(self, view: View) -> Run:
        """The run, if whoever says it may know of it."""
        run = view.get(Run, self.run_id)
        if run is None or self.tenant not in (ALL, run.tenant):
            raise NotFound(f'no run "{self.run_id}"')
        return run

    def break_run(self, error: Exception) -> None:
        """End the run instead: this event can never be decided, or never be stored."""
        results = isinstance(self.event, AttemptSucceeded | AttemptFailed | PodObserved)
        text = (
            str(error) if isinstance(error, WindlassError) else f"{type(error).__name__}: {error}"
        )
        failure = Failure(
            "fatal", f"the run cannot go on: {text[:_REASON_CHARS_MAX]}", code="broken"
        )
        # A worker has done its part, and would only send its result again.
        self.event = BreakRun(self.run_id, failure, "accepted" if results else error)

    def needs(self) -> list[Need]:
        """The rows this event will certainly ask for, to be read in one go."""
        match self.event:
            case (
                AttemptSucceeded()
                | AttemptFailed()
                | AttemptStarted()
                | AttemptDetached()
                | PodObserved()
                | BriefAsked()
                | NextRequested()
                | BoardWritten()
                | ActionBegan()
                | ActionEnded()
                | LeaseExpired()
            ):
                task = task_of(self.event.attempt_id)
                return [
                    Need("runs", self.run_id),
                    Need("attempts", self.event.attempt_id),
                    *lineage(task),
                ]
            case ParkTask() | WakeTask() | EnvReserved():
                return [Need("runs", self.run_id), *lineage(self.event.task_id)]
            case Claim():
                return [Need("runs", self.run_id), *lineage(self.event.task_id)]
            case EnvAllocated() | EnvRefused() | EnvSeen() | EnvReleased() | EnvGivenUp():
                session = Need("env_sessions", self.event.session_id)
                of_task = lineage(self.event.session_id.rpartition("!")[0])
                return [Need("runs", self.run_id), session, *of_task]
            case TimerFired():
                return [
                    Need("runs", self.run_id),
                    Need("timers", self.event.timer_id),
                    *lineage(self.event.timer_id.rpartition("!")[0]),
                ]
            case CheckpointAnswered():
                return [
                    Need("runs", self.run_id),
                    Need("checkpoints", self.event.checkpoint_id),
                    *lineage(self.event.checkpoint_id.rpartition("!")[0]),
                ]
            case _:
                return [Need("runs", self.run_id)]


def lineage(task_id: str) -> list[Need]:
    """A task and the containers around it; only itself where no task can be that deep."""
    needs: list[Need] = []
    if task_id.count("~") > _DEPTH_MAX:
        return [Need("tasks", task_id)]
    while "~" in task_id:
        needs.append(Need("tasks", task_id))
        task_id = scope_of(task_id)
    return needs


class StartJob:
    """A run to begin, or to make of another's rows. With an idempotency key it may turn out to be
    there already."""

    __slots__ = ("along", "answer", "event", "graph", "key", "outcome", "run_id")

    def __init__(
        self,
        event: StartRun | ForkRun,
        graph: Graph,
        answer: "asyncio.Future[Any]",
        key: Idempotency | None,
        along: Sequence[Row] = (),
    ) -> None:
        self.along = along
        """Rows that belong to the start: made in its commit."""
        self.event = event
        self.graph = graph
        self.answer = answer
        self.key = key
        self.run_id = event.run.id
        self.outcome: Any = None

    def decide(self, view: View, now: int, limits: Limits) -> Decision:
        if isinstance(self.event, ForkRun):
            decision = fork(self.graph, self.event, now, limits)
        else:
            decision = start(self.graph, view, self.event, now, limits)
        if self.key is not None:
            decision.made[Idempotency] = {self.key.key: self.key}
        return decision


class WriteJob:
    """Rows outside any run, such as a worker's heartbeat, that ride along in a commit."""

    __slots__ = ("answer", "changed", "made", "outcome", "removed", "stands")
    run_id = ""
    event = None

    def __init__(
        self,
        answer: "asyncio.Future[Any]",
        made: Mapping[type[Row], dict[Any, Row]],
        changed: Mapping[type[Row], dict[Any, Row]],
        stands: Mapping[type[Row], dict[Any, Row]],
        removed: Mapping[type[Row], set[Any]] | None = None,
    ) -> None:
        self.removed = removed or {}
        self.answer = answer
        self.made = made
        self.changed = changed
        self.stands = stands
        """Rows as they were read; if one is another by now, nothing is written (`Outdated`)."""
        self.outcome: Any = None


class Outdated(Exception):
    """A row is not what it was when it was read; read again and decide again."""


class ClaimJob(Job):
    """A queued task that some demand is to have."""

    __slots__ = ("demand",)

    def __init__(self, event: Claim, demand: Demand) -> None:
        super().__init__(event)
        self.demand = demand


AnyJob = Job | StartJob | WriteJob


def rows_of(*rows: Row) -> dict[type[Row], dict[Any, Row]]:
    """Rows by table and key, as a write takes them."""
    tables: dict[type[Row], dict[Any, Row]] = {}
    for row in rows:
        tables.setdefault(type(row), {})[row.pk] = row
    return tables

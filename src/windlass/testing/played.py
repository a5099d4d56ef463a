"""A run without an engine: events go straight through the kernel, rows stay in dictionaries.

    run = Played(graph)
    for task in run.queued():
        run.succeed(task.id, {"n": 1})
    assert run.state() is RunState.SUCCEEDED

For tests of the kernel and of what dialects lower to: there is no clock but `now`, no worker but
the test, and every event is decided at once.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, cast

import msgspec

from windlass.kernel.bounds import Limits
from windlass.kernel.decide import decide, start
from windlass.kernel.decision import Decision
from windlass.kernel.events import (
    AttemptFailed,
    AttemptSucceeded,
    Claim,
    NextRequested,
    RunEvent,
    StartRun,
)
from windlass.model.assignment import Assignment, Called
from windlass.model.graph import Graph
from windlass.model.ids import attempt_id
from windlass.model.rows import BranchResult, Event, Failure, Json, Row, Run, Task, Variable
from windlass.model.states import TASK_ENDED, RunState, TaskState

R = TypeVar("R", bound=Row)

RUN_ID = "01900000-0000-7000-8000-000000000000"


class Played:
    """One run of a graph; also the view its decisions read."""

    def __init__(
        self,
        graph: Graph,
        params: Mapping[str, Any] | None = None,
        limits: Limits | None = None,
        *,
        begin: bool = True,
    ) -> None:
        self.graph = graph
        self.limits = limits or Limits()
        self.now = 1_700_000_000_000
        self.memo: dict[Any, Any] = {}
        self.steps = 0
        self.written = 0
        self.tables: dict[type[Row], dict[Any, Row]] = {}
        self._params = _json(params or {})
        if begin:
            self.begin()

    # Events

    def begin(self) -> None:
        run = Run(
            id=RUN_ID,
            version_id="v",
            flow_id="f",
            flow_name="played",
            state=RunState.QUEUED,
            params=self._params,
            created_at=self.now,
            updated_at=self.now,
        )
        self._apply(start(self.graph, self, StartRun(run), self.now, self.limits))

    def send(self, event: RunEvent) -> Any:
        """Decide an event; returns its answer."""
        self.steps = 0
        return self._apply(decide(self.graph, self, self.row(), event, self.now, self.limits))

    def claim(self, task_id: str, worker: str = "w") -> Assignment:
        answer: Assignment = self.send(Claim(task_id, worker, "", worker, 30_000))
        return answer

    def succeed(self, task_id: str, output: Any = None, *, skipped: bool = False) -> str:
        """End a task's live attempt with a result; a queued task is claimed first."""
        event = AttemptSucceeded(self._attempt(task_id), _json(output), skipped=skipped)
        answer: str = self.send(event)
        return answer

    def fail(self, task_id: str, message: str = "boom", kind: str = "failed") -> None:
        self.send(AttemptFailed(self._attempt(task_id), Failure(kind, message)))

    def call_next(self, task_id: str, request: str, payload: Any = None) -> Called:
        text = None if payload is None else _json(payload)
        answer: Called = self.send(NextRequested(self._attempt(task_id), request, text))
        return answer

    def _attempt(self, task_id: str) -> str:
        task = self.task(task_id)
        if task.claimable:
            return self.claim(task_id).attempt_id
        return attempt_id(task.id, task.attempts)

    def _apply(self, decision: Decision) -> Any:
        for table, keys in decision.removed.items():
            for key in keys:
                self.tables.get(table, {}).pop(key, None)
        for changes in (decision.made, decision.changed):
            for table, rows in changes.items():
                self.tables.setdefault(table, {}).update(rows)
        if decision.graph is not None:
            self.graph = decision.graph
            self.memo.clear()
        return decision.answer

    # What a test looks at

    def row(self) -> Run:
        return cast(Run, self.tables[Run][RUN_ID])

    def state(self) -> RunState:
        return self.row().state

    def task(self, task_id: str) -> Task:
        return cast(Task, self.tables[Task][task_id])

    def tasks(self, node: str | None = None) -> list[Task]:
        """The tasks of a node, or all, in the order they were made."""
        rows = cast("Mapping[str, Task]", self.tables.get(Task, {})).values()
        return [task for task in rows if node in (None, task.node)]

    def one(self, node: str) -> Task:
        [task] = self.tasks(node)
        return task

    def queued(self) -> list[Task]:
        return [task for task in self.tasks() if task.state is TaskState.QUEUED]

    def states(self) -> dict[str, str]:
        """By node, the state of its newest task."""
        return {task.node: str(task.state) for task in self.tasks()}

    def events(self) -> list[Event]:
        return cast("list[Event]", list(self.tables[Event].values()))

    # The view

    def get(self, table: type[R], key: Any) -> R | None:
        return cast("R | None", self.tables.get(table, {}).get(key))

    def open_tasks(self, scope: str) -> Sequence[Task]:
        inside = scope + "~"
        return [
            task
            for task in self.tasks()
            if task.id.startswith(inside) and task.state not in TASK_ENDED
        ]

    def all_tasks(self, run_id: str) -> Sequence[Task]:
        return sorted(self.tasks(), key=lambda task: (task.made_seq, task.id))

    def waiting_tasks(self, run_id: str, key: str) -> Sequence[Task]:
        return [task for task in self.tasks() if task.wait_key == key]

    def branch_results(self, container: str) -> Sequence[BranchResult]:
        return [
            BranchResult(task.idx, task.state, task.output, task.error)
            for task in sorted(self.tasks(), key=lambda task: task.idx)
            if task.scope == container and task.idx >= 0
        ]

    def variables(self, scope: str) -> Mapping[str, Variable]:
        rows = cast("Mapping[Any, Variable]", self.tables.get(Variable, {})).values()
        return {row.key: row for row in rows if row.scope == scope}

    def signals(self, run_id: str) -> Sequence[tuple[int, str, Json]]:
        return []


def _json(value: Any) -> Json:
    return msgspec.json.encode(value).decode()

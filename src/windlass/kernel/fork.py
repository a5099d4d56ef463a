"""Forks: another run that has done what one did, up to a task, and does the rest again.

A run's rows name it in every id, so under another id they are another run with the same past. That
run is then done again from the task on, by the same rules as a retry from it: what came before
keeps its results, what came of it counts no longer. All of it is one decision.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, cast

import msgspec

from windlass.kernel import redo, reopen
from windlass.kernel.bounds import Limits
from windlass.kernel.decision import Decision
from windlass.kernel.events import ForkRun
from windlass.kernel.finish import finish
from windlass.kernel.turn import Turn
from windlass.model.errors import BadRequest
from windlass.model.graph import Graph, Kind
from windlass.model.rows import BranchResult, Event, Json, Row, Task, Variable
from windlass.model.states import TASK_ENDED, TaskState

R = TypeVar("R", bound=Row)


def fork(graph: Graph, event: ForkRun, now: int, limits: Limits) -> Decision:
    """Make the run; its rows are all new."""
    copies = Copies([event.run, *event.rows])
    turn = Turn(graph, copies, event.run, now, limits)
    if graph.counts_edges:
        task = reopen.reopen(turn, event.task_id, descendants=True)
    else:
        task = redo.redo(turn, event.task_id, descendants=True)
    if event.input is not None:
        give_input(turn, task, event.input)
    said = {"source": event.source, "edited": event.input is not None}
    decision = finish(turn, "run.forked", task.id, event.run.id, **said)
    return all_made(copies, decision, graph)


def give_input(turn: Turn, task: Task, given: Json) -> None:
    row = turn.task(task.id)
    if row.kind != Kind.CALL or row.state is not TaskState.QUEUED:
        text = f"task {task.id} makes its own input; fork from a task that calls something"
        raise BadRequest(text)
    turn.move(row, row.state, input=given)


def all_made(copies: "Copies", decision: Decision, graph: Graph) -> Decision:
    """The rows of the other run as the decision leaves them, each of them new."""
    made: dict[type[Row], dict[Any, Row]] = {
        table: dict(rows) for table, rows in copies.tables.items()
    }
    for table, keys in decision.removed.items():
        for key in keys:
            made.get(table, {}).pop(key, None)
    for changes in (decision.made, decision.changed):
        for table, rows in changes.items():
            made.setdefault(table, {}).update(rows)
    return Decision(
        made,
        answer=decision.answer,
        graph=decision.graph or graph,
        settled=decision.settled,
        taken=decision.taken,
    )


class Copies:
    """A view of rows that are all there is of a run."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.memo: dict[Any, Any] = {}
        self.steps = 0
        self.written = 0
        self.tables: dict[type[Row], dict[Any, Row]] = {}
        for row in rows:
            self.tables.setdefault(type(row), {})[row.pk] = row

    def get(self, table: type[R], key: Any) -> R | None:
        return cast("R | None", self.tables.get(table, {}).get(key))

    def _tasks(self) -> Sequence[Task]:
        return cast("Sequence[Task]", list(self.tables.get(Task, {}).values()))

    def open_tasks(self, scope: str) -> Sequence[Task]:
        prefix = scope + "~"
        return [t for t in self._tasks() if t.state not in TASK_ENDED and t.id.startswith(prefix)]

    def all_tasks(self, run_id: str) -> Sequence[Task]:
        return sorted(self._tasks(), key=lambda task: (task.made_seq, task.id))

    def waiting_tasks(self, run_id: str, key: str) -> Sequence[Task]:
        return [t for t in self._tasks() if t.state is TaskState.WAITING and t.wait_key == key]

    def branch_results(self, container: str) -> Sequence[BranchResult]:
        branches = [t for t in self._tasks() if t.scope == container and t.idx >= 0]
        return sorted(BranchResult(t.idx, t.state, t.output, t.error) for t in branches)

    def variables(self, scope: str) -> Mapping[str, Variable]:
        rows = cast("dict[Any, Variable]", self.tables.get(Variable, {}))
        return {row.key: row for row in rows.values() if row.scope == scope}

    def signals(self, run_id: str) -> Sequence[tuple[int, str, Json]]:
        events = cast("dict[Any, Event]", self.tables.get(Event, {}))
        return sorted(
            _signal(event) for event in events.values() if event.type == "signal.received"
        )


def _signal(event: Event) -> tuple[int, str, Json]:
    data = msgspec.json.decode(event.data, type=dict[str, msgspec.Raw])
    return event.seq, msgspec.json.decode(data["key"]), bytes(data["value"]).decode()


_DATA = frozenset({"params", "input", "output", "error", "value", "show", "answer", "note", "log"})
"""Columns that hold what people and workers said. If they speak of the first run, they still do."""


def renamed(row: R, old: str, new: str) -> R:
    """A row of one run as a row of another: wherever the one's id stands, the other's does."""
    columns = {
        name: value.replace(old, new)
        for name in row.__struct_fields__
        if name not in _DATA and isinstance(value := getattr(row, name), str) and old in value
    }
    return msgspec.structs.replace(row, **columns)

"""One decision in the making: reads through the view, collects the rows to write.

`Turn` is the kernel's only mutable thing. It lives for one event, keeps the counters of runs and
containers in step with every change of a task, checks each change against the transition tables,
and ends in a `Decision`: the rows, and one event that lists what changed.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar, cast

import msgspec
from msgspec.structs import replace

from windlass.kernel.bounds import Limits
from windlass.kernel.decision import Decision
from windlass.kernel.transitions import check_attempt, check_run, check_task
from windlass.kernel.view import Missing, Need, Outgrown, View
from windlass.model.dead_letters import DeadLetter, is_given_up, letter_of_task
from windlass.model.envs import EnvSession
from windlass.model.errors import TooMuchWork
from windlass.model.graph import Graph, Kind, Node
from windlass.model.ids import scope_of
from windlass.model.notes import with_usage
from windlass.model.quotas import is_queued
from windlass.model.rows import (
    Attempt,
    BranchResult,
    Event,
    Json,
    Row,
    Run,
    Task,
    Timer,
    Variable,
)
from windlass.model.states import ATTEMPT_LIVE, RUN_ENDED, TASK_ENDED, RunState, TaskState

R = TypeVar("R", bound=Row)

_LONG = 4_096
_ACTIVE = frozenset({TaskState.QUEUED, TaskState.RUNNING, TaskState.VERIFYING})


def is_active(task: Task) -> bool:
    """Whether somebody works on a task or is looked for: to do it, to judge it, or to plan it."""
    if task.kind == Kind.PLAN:
        return task.state in _ACTIVE and task.queue is not None
    return task.kind == Kind.CALL and task.state in _ACTIVE


class Visit(NamedTuple):
    """A token on its way to a node of a scope; one that did not fire says it will not come."""

    scope: str
    path: str
    fired: bool = True


WANTED = "replan"
"""The key, in a plan's own scope, of why it is to be planned anew."""


class Replan(NamedTuple):
    """Somebody wants a plan made anew: why, because of which task, and with what to go by."""

    container: str
    reason: str
    source: str = ""
    hint: str = ""
    plan: Any = None
    """The plan itself, where whoever wants it brings it along."""


class Turn:
    """Reads and writes of one decision; see the module's docstring."""

    def __init__(self, graph: Graph, view: View, run: Run, now: int, limits: Limits) -> None:
        self.graph = graph
        self.view = view
        self.now = now
        self.limits = limits
        self.run_id = run.id
        self.tenant = run.tenant
        self.seq = run.seq + 1
        self.barriers_before = run.barriers
        self.visits: list[Visit] = []
        """Nodes this turn still has to go to."""
        self.replans: list[Replan] = []
        """Plans this turn still has to have made anew."""
        self.grown = False
        """Whether the graph is another one than at the turn's beginning."""
        self.joined: set[str] = set()
        """Tasks that waited for all their edges and may begin now: they have a row already."""
        self.with_env: set[str] = set()
        """Tasks this turn has touched that have a session of an environment."""
        self.visited = 0
        self.rounds: dict[tuple[str, str], int] = {}  # by scope and node
        self._base = run
        self._run: dict[str, Any] = {}
        self._made: dict[type[Row], dict[Any, Row]] = {}
        self._changed: dict[type[Row], dict[Any, Row]] = {}
        self._removed: dict[type[Row], set[Any]] = {}
        self._changes: list[dict[str, Any]] = []
        self.settled: list[Attempt | EnvSession | Run] = []
        self.taken: list[Run] = []
        self.pushed_back: list[tuple[Attempt, int]] = []
        self.raised: list[tuple[str, int]] = []
        self.left: Json = ""
        """What whoever claims a task is told of the budgets it is under."""
        self.usage: tuple[str, dict[str, int]] | None = None
        """What an attempt that is about to end says it has used."""
        self.budget: Json = run.budget or graph.budget
        self.project = run.project

    def spend(self, steps: int) -> None:
        """Count what this decision costs; past its bound the run, not the engine, gives up."""
        self.view.steps += steps
        if self.view.steps > self.limits.steps_per_event:
            raise TooMuchWork(
                "one step of this run reads or passes through more than a run may at once"
                f" ({self.limits.steps_per_event:,}); make its conditions fewer, its lists shorter,"
                " or let a loop wait or call something"
            )

    def _bound(self, value: Json | None) -> None:
        """Past its bound a value is the end of the run that made it, not of the engine's memory."""
        size = 0 if value is None else len(value)
        if size >= _LONG:
            self.view.written += size
        if size > self.limits.value_bytes_max:
            raise TooMuchWork(
                f"a value of this run would have {size:,} characters, and may have"
                f" {self.limits.value_bytes_max:,}; keep what is larger as a resource"
            )

    def _look_through(self, table: type[Row]) -> None:
        """Pay for looking at every row this turn has made, which a loop does again and again."""
        self.spend(len(self._made.get(table, ())) >> 3)

    # Reading

    def get(self, table: type[R], key: Any) -> R | None:
        changed, made = self._changed.get(table), self._made.get(table)
        if changed is not None and key in changed:
            return cast(R, changed[key])
        if made is not None and key in made:
            return cast(R, made[key])
        if self._removed and key in self._removed.get(table, ()):
            return None
        if Task in self._made and (
            (table is Variable and self._is_new(key[0]))
            or (table is Task and self._is_new(scope_of(key)))
        ):
            return None
        return self.view.get(table, key)

    def _is_new(self, scope: str) -> bool:
        """Whether a scope began in this very turn: then no row of it is stored anywhere, and asking
        for one would only have the turn done again."""
        return scope in self._made.get(Task, ())

    def task(self, task_id: str) -> Task:
        row = self.get(Task, task_id)
        assert row is not None, f"task {task_id} has no row"
        return row

    def rows(self, table: type[R], keys: Sequence[Any]) -> dict[Any, R | None]:
        """Several rows by key; those that are not in memory are asked for all at once."""
        found: dict[Any, R | None] = {}
        needs: list[Need] = []
        for key in keys:
            try:
                found[key] = self.get(table, key)
            except Missing as missing:
                needs.append(missing.need)
        if needs:
            raise Missing(needs[0], needs[1:])
        return found

    def open_tasks(self, scope: str) -> list[Task]:
        """Open tasks below a scope as they stand in this turn, which may have opened some again."""
        self._look_through(Task)
        stored = () if self._is_new(scope) else self.view.open_tasks(scope)
        rows = {task.id: self.task(task.id) for task in stored}
        prefix = scope + "~"
        for touched in (self._made, self._changed):
            for key in touched.get(Task, ()):
                if key.startswith(prefix):
                    rows[key] = self.task(key)
        return [task for task in rows.values() if task.state not in TASK_ENDED]

    def touched_tasks(self) -> list[Task]:
        """The tasks this turn has made or changed, as they stand."""
        keys = {**self._made.get(Task, {}), **self._changed.get(Task, {})}
        return [self.task(key) for key in keys]

    def all_tasks(self) -> list[Task]:
        """Every task of the run as it stands in this turn, in the order they were made."""
        stored = self.view.all_tasks(self.run_id)
        rows = {task.id: self.task(task.id) for task in stored}
        for key in self._made.get(Task, {}):
            rows.setdefault(key, self.task(key))
        return list(rows.values())

    def variables(self, scope: str) -> dict[str, Variable]:
        """All shared keys of a scope as they stand in this turn."""
        self._look_through(Variable)
        rows = {} if self._is_new(scope) else dict(self.view.variables(scope))
        for row in self._made.get(Variable, {}).values():
            if cast(Variable, row).scope == scope:
                rows[cast(Variable, row).key] = cast(Variable, row)
        removed = self._removed.get(Variable, ())
        return {key: row for key, row in rows.items() if (scope, key) not in removed}

    def branch_results(self, container: str) -> list[BranchResult]:
        """How the branches of a fan-out ended, by index, with those that end in this turn."""
        self._look_through(Task)
        here = {
            row.idx: BranchResult(row.idx, row.state, row.output, row.error)
            for rows in (self._made, self._changed)
            for row in cast("dict[str, Task]", rows.get(Task, {})).values()
            if row.idx >= 0 and row.scope == container
        }
        there = () if self._is_new(container) else self.view.branch_results(container)
        merged = [here.pop(result.idx, result) for result in there]
        return sorted([*merged, *here.values()]) if here else merged

    def node(self, task: Task) -> Node:
        try:
            return self.graph.nodes[task.node]
        except KeyError:
            raise Outgrown(f"{task.id} is of a node that came later") from None

    @property
    def run(self) -> Run:
        if self._run:
            self._base, self._run = replace(self._base, **self._run), {}
        return self._base

    def column(self, name: str) -> Any:
        """A column of the run as it stands in this turn, without making a row of it."""
        return self._run[name] if name in self._run else getattr(self._base, name)

    @property
    def cancelling(self) -> bool:
        return self.column("state") is RunState.CANCELLING

    @property
    def redone(self) -> bool:
        """Whether the run was ever opened again, redone in part or patched: then a visit may find
        its task of an earlier time."""
        base, now = self._base, self._run
        return bool(base.generation or base.graph_rev or "generation" in now or "graph_rev" in now)

    # Writing

    def make(self, row: Row) -> None:
        self._made.setdefault(type(row), {})[row.pk] = row

    def change(self, row: Row) -> None:
        """Replace a row that stands in the view or was made in this turn."""
        made = self._made.get(type(row))
        key = row.pk
        if made is not None and key in made:
            made[key] = row
        else:
            self._changed.setdefault(type(row), {})[key] = row

    def set_run(self, **columns: Any) -> None:
        state = columns.get("state")
        if state is not None:
            reopened = columns.get("generation", self._base.generation) > self._base.generation
            old = self.column("state")
            check_run(old, state, reopened)
            if state is not old:
                self._changes.append({"run": str(state)})
        self._run.update(columns)

    def count_run(self, **deltas: int) -> None:
        for column, delta in deltas.items():
            now = self._run.get(column)
            self._run[column] = (getattr(self._base, column) if now is None else now) + delta

    def make_task(self, task: Task) -> Task:
        """Add a task and count it in its scope; or begin one that has waited for its edges."""
        self._bound(task.input)
        if task.id in self.joined:
            return self._begin(task)
        self._made.setdefault(Task, {})[task.id] = task
        if is_active(task):
            self.count_run(active=1)
        if task.idx < 0:
            # Branches of a fan-out are counted and reported by the batch, by whoever makes them.
            self.note_task(task)
            self.count_scope(task.scope, made=1, open=1)
        return task

    def _begin(self, task: Task) -> Task:
        self.joined.discard(task.id)
        check_task(TaskState.PENDING, task.state, reopened=False)
        self.change(task)
        if is_active(task):
            self.count_run(active=1)
        if task.state is not TaskState.PENDING:
            self.note_task(task)
        return task

    def move(self, task: Task, state: TaskState, **columns: Any) -> Task:
        """Put a task into a state (or only change columns, if it is the same)."""
        generation = columns.get("generation", task.generation)
        check_task(task.state, state, generation > task.generation)
        if state in TASK_ENDED and task.state not in TASK_ENDED:
            columns.setdefault("finished_at", self.now)
            columns["ended_seq"] = self.seq
            columns.setdefault("wait_key", None)
            columns.setdefault("due_at", None)
        if task.parked is not None and state is not TaskState.WAITING:
            columns.setdefault("parked", None)
        for column in ("input", "output"):
            if columns.get(column) is not None:
                self._bound(columns[column])
        new = replace(task, state=state, **columns)
        if new.env:
            self.with_env.add(new.id)
        delta = 0
        if task.kind == Kind.CALL:
            delta = (state in _ACTIVE) - (task.state in _ACTIVE)
        elif task.kind == Kind.PLAN:
            delta = is_active(new) - is_active(task)
        if delta:
            self.count_run(active=delta)
        failed = (state is TaskState.FAILED) - (task.state is TaskState.FAILED)
        if failed:
            self.count_run(failures=failed)
            if failed < 0:
                self.remove(DeadLetter, new.id)
            elif is_given_up(new):
                self.make(letter_of_task(self._base, new, self.now))
        self.change(new)
        if state is not task.state or generation != task.generation:
            self.note_task(new)
        return new

    def move_attempt(self, attempt: Attempt, **columns: Any) -> Attempt:
        state = columns.get("state", attempt.state)
        check_attempt(attempt.state, state)
        ends = state not in ATTEMPT_LIVE and attempt.state in ATTEMPT_LIVE
        if ends:
            columns["finished_at"] = self.now
            if self.usage is not None and self.usage[0] == attempt.id:
                notes = columns.get("notes", attempt.notes)
                columns["notes"] = with_usage(notes, self.usage[1])
        new = replace(attempt, **columns)
        if ends and attempt.limits:
            self.settled.append(new)
        self.change(new)
        if new.state is not attempt.state:
            note: dict[str, Any] = {"attempt": new.id, "state": str(new.state)}
            if new.error is not None:
                note["error"] = msgspec.Raw(new.error.encode())
            self._changes.append(note)
        return new

    def count_scope(self, scope: str, **deltas: int) -> int:
        """Change the counters of a scope; returns how many of its tasks are open."""
        if scope == self.run_id:
            self.count_run(**deltas)
            return cast(int, self._run["open"]) if "open" in self._run else self._base.open
        container = self.task(scope)
        columns = {name: getattr(container, name) + delta for name, delta in deltas.items()}
        new = replace(container, **columns)
        self.change(new)
        return new.open

    def set_variable(self, scope: str, key: str, value: Json) -> None:
        self._bound(value)
        row = Variable(scope=scope, key=key, run_id=self.run_id, value=value, seq=self.seq)
        self._removed.get(Variable, set()).discard((scope, key))
        self._made.setdefault(Variable, {})[(scope, key)] = row

    def remove(self, table: type[Row], key: Any) -> None:
        self._made.get(table, {}).pop(key, None)
        self._changed.get(table, {}).pop(key, None)
        self._removed.setdefault(table, set()).add(key)

    def set_timer(self, task_id: str, kind: str, due_at: int) -> None:
        id_, run_id = f"{task_id}!{kind}", self.run_id
        timer = Timer(id=id_, run_id=run_id, task_id=task_id, kind=kind, due_at=due_at)
        self._removed.get(Timer, set()).discard(timer.id)
        self.make(timer)

    def drop_timer(self, task_id: str, kind: str) -> None:
        self.remove(Timer, f"{task_id}!{kind}")

    # Reporting

    def note(self, **change: Any) -> None:
        """Add a line to what the event says changed."""
        self._changes.append(change)

    def note_task(self, task: Task) -> None:
        note: dict[str, Any] = {"task": task.id, "node": task.node, "state": str(task.state)}
        if task.generation:
            note["generation"] = task.generation
        if task.action:
            note["action"] = task.action
        if task.error is not None:
            note["error"] = msgspec.Raw(task.error.encode())
        if task.due_at is not None:
            note["due_at"] = task.due_at
        self._changes.append(note)

    def settle_run(self) -> None:
        """Let the run's state follow its counters: waiting when nothing is queued or running."""
        before = self.column("state")
        if before in RUN_ENDED or before is RunState.CANCELLING:
            return
        if self._base.quota and is_queued(self.run):
            return
        state = RunState.RUNNING if self.column("active") > 0 else RunState.WAITING
        if state is not before:
            self.set_run(state=state, started_at=self.column("started_at") or self.now)

    def decision(
        self, type_: str, task_id: str | None, answer: Any, data: dict[str, Any]
    ) -> Decision:
        """Close the turn: one event that tells all changes, and the run row that counts it."""
        data["changes"] = self._changes
        event = Event(
            run_id=self.run_id,
            seq=self.seq,
            type=type_,
            task_id=task_id,
            at=self.now,
            data=msgspec.json.encode(data).decode(),
        )
        self.make(event)
        self._run["seq"] = self.seq
        self._run["updated_at"] = self.now
        self.change(self.run)
        made, changed, removed = self._made, self._changed, self._removed
        settled, taken = self.settled, self.taken
        pushed, raised = self.pushed_back, self.raised
        return Decision(made, changed, removed, answer, None, settled, pushed, raised, taken)


def container_of(turn: Turn, task: Task) -> Task | None:
    """The container task a task sits in; None at the top level."""
    scope = scope_of(task.id)
    return None if scope == task.run_id else turn.task(scope)

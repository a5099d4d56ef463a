"""Rows in memory: what decisions read, kept between passes while a run is busy.

A `LoadedRun` holds rows of one run as last committed by this process. It may be out of date when
another process has moved the run; nothing is lost by that, because saving checks the run's `seq`,
and on a mismatch the view is thrown away and read again. So the cache saves reads and never
decides anything by itself.
"""

from collections import OrderedDict, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, cast

import msgspec

from windlass.kernel.decision import Decision
from windlass.kernel.view import Missing, Need
from windlass.model.blackboard import BoardEntry
from windlass.model.envs import EnvResource, EnvSession
from windlass.model.graph import Graph
from windlass.model.ledger import Action, Approval
from windlass.model.patches import GraphPatch
from windlass.model.quotas import QueuedRun
from windlass.model.rows import (
    AffinityHold,
    Attempt,
    Binding,
    BranchResult,
    Checkpoint,
    Event,
    Json,
    Row,
    Run,
    Task,
    Timer,
    Variable,
)
from windlass.model.states import ATTEMPT_LIVE, RUN_ENDED, TASK_ENDED, TaskState
from windlass.ports.store import Writes

R = TypeVar("R", bound=Row)


_PARSED = 16
"""About how many bytes a parsed value takes for each byte of its text."""
_PLAN_TASKS_KEPT = 256
_LIGHT_BYTES = 64 * 1024
"""Parameters up to this size are not worth keeping an eye on."""


TABLES: tuple[type[Row], ...] = (
    Run,
    Task,
    Attempt,
    Variable,
    Timer,
    Checkpoint,
    Binding,
    AffinityHold,
    GraphPatch,
    Action,
    Approval,
    BoardEntry,
    EnvSession,
    EnvResource,
    QueuedRun,
)
"""What a decision may ask for by key."""
_KNOWN = frozenset(TABLES)
_ASKED_AGAIN = (AffinityHold, EnvResource, GraphPatch, Action, Approval, EnvSession)
"""What is not kept between passes: it is not the run's own, so whatever others have made of it
counts, or it is hardly ever asked for."""


class LoadedRun:
    """The rows of one run that are in memory."""

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        self.whole = False
        """The run was made here: what belongs to it and is not in memory does not exist, except
        tasks and attempts that were forgotten."""
        self.forgot = False
        """Tasks or attempts that had ended were forgotten."""
        self.fresh = True
        """Everything in memory was read in this pass."""
        self.doubted = False
        """What is in memory made no sense; it is read again after this pass."""
        self.tables: defaultdict[type[Row], dict[Any, Row | None]] = defaultdict(dict)
        self._runs = cast("dict[str, Run | None]", self.tables[Run])
        self.grown: tuple[int, Graph] | None = None
        """The run's graph since a patch that was decided here, and its revision. It goes with the
        view when the patch was not committed after all."""
        self.memo: dict[Any, Any] = {}
        self.steps = 0
        self.goes_round = False
        """It has been at its nodes several times by now."""
        self.written = 0
        self.bytes = 0
        self.heavy = 0
        """How large its parameters are, where that is so much that keeping them parsed matters."""
        self.whole_scopes: set[str] = set()
        """Scopes whose shared keys are all in memory."""
        self.sets: dict[Need, Any] = {}
        """Sets of rows read in this pass; dropped at its end."""

    # What the kernel asks

    def get(self, table: type[R], key: Any) -> R | None:
        rows = self.tables[table]
        if key in rows:
            return rows[key]  # type: ignore[return-value]  # asked for with every decision
        if self.whole and (
            table in (Variable, Timer, Checkpoint, Binding, QueuedRun)
            or (not self.forgot and table in (Task, Attempt, BoardEntry))
        ):
            return None
        if table is Variable and key[0] in self.whole_scopes:
            return None
        raise Missing(Need(table.TABLE, key))

    def open_tasks(self, scope: str) -> Sequence[Task]:
        if not self.whole or self.forgot:
            self._set(Need("open_tasks", scope))
        prefix = scope + "~"
        return [
            task
            for task in cast("dict[str, Task | None]", self.tables[Task]).values()
            if task is not None and task.state not in TASK_ENDED and task.id.startswith(prefix)
        ]

    def all_tasks(self, run_id: str) -> Sequence[Task]:
        if not self.whole or self.forgot:
            self._set(Need("run_tasks", run_id))
        tasks = [cast(Task, task) for task in self.tables[Task].values() if task is not None]
        return sorted(tasks, key=lambda task: (task.made_seq, task.id))

    def waiting_tasks(self, run_id: str, key: str) -> Sequence[Task]:
        self._set(Need("waiting_tasks", (run_id, key)))
        return [
            task
            for task in cast("dict[str, Task | None]", self.tables[Task]).values()
            if task is not None and task.wait_key == key and task.state is TaskState.WAITING
        ]

    def branch_results(self, container: str) -> Sequence[BranchResult]:
        known: dict[int, BranchResult] = self._set(Need("ended_branches", container))
        for task in cast("dict[str, Task | None]", self.tables[Task]).values():
            if task is not None and task.scope == container and task.idx >= 0:
                known[task.idx] = BranchResult(task.idx, task.state, task.output, task.error)
        return [known[idx] for idx in sorted(known)]

    def variables(self, scope: str) -> Mapping[str, Variable]:
        if not self.whole and scope not in self.whole_scopes:
            raise Missing(Need("scope_variables", scope))
        return {
            row.key: row
            for row in cast("dict[Any, Variable | None]", self.tables[Variable]).values()
            if row is not None and row.scope == scope
        }

    def signals(self, run_id: str) -> Sequence[tuple[int, str, Json]]:
        events: list[Event] = self._set(Need("signals", run_id))
        return [signal_of(event) for event in events]

    def _set(self, need: Need) -> Any:
        if need not in self.sets:
            raise Missing(need)
        return self.sets[need]

    # What the engine does

    def graph_at(self, revision: int) -> Graph | None:
        grown = self.grown
        return None if grown is None or grown[0] != revision else grown[1]

    @property
    def run(self) -> Run | None:
        return self._runs.get(self.run_id)

    def give_task(self, task: Task) -> None:
        """Add a task that was read for itself; if it is news, others have moved the run meanwhile,
        and what is in memory is not all there is."""
        if self.tables[Task].get(task.id) is None:
            self.forgot = True
        self.give(Task, [task.id], [task])

    def give(self, table: type[Row], keys: Sequence[Any], rows: Sequence[Row]) -> None:
        """Add rows that were read; keys without a row are known not to exist."""
        known = self.tables[table]
        for key in keys:
            known.setdefault(key, None)
        for row in rows:
            if isinstance(row, Run):
                self.weigh(row)
            if known.get(row.pk) is None:
                known[row.pk] = row

    def weigh(self, run: Run) -> None:
        size = len(run.params)
        self.heavy = size if size > _LIGHT_BYTES else 0

    def prune(self) -> None:
        """Forget what a busy run will hardly ask for again: ended work, branches that wait. Notes
        how much the rest takes: its payloads, as everything else is small beside them."""
        tables, run = self.tables, self.run
        self.sets.clear()
        self.fresh = False
        planned = run is not None and run.graph_rev > 0
        size = self._prune_planned() if planned and self._is_small() else self._prune_tasks()
        for table in _ASKED_AGAIN:
            if table in tables:
                del tables[table]
        timers = tables[Timer]
        for key in [k for k, timer in timers.items() if timer is None] if timers else ():
            del timers[key]
        for variable in cast("dict[Any, Variable | None]", tables[Variable]).values():
            if variable is not None:
                size += len(variable.value)
        size += self.heavy * (_PARSED if self.memo else 1)
        self.bytes = size

    def _is_small(self) -> bool:
        """Whether all of a plan's run is worth keeping: what is planned is told of what came before
        it, and what is judged of its claim."""
        return self.whole and not self.forgot and len(self.tables[Task]) <= _PLAN_TASKS_KEPT

    def _prune_planned(self) -> int:
        size = 0
        for task in cast("dict[str, Task | None]", self.tables[Task]).values():
            size += len(task.input or "") + len(task.output or "") if task is not None else 0
        for attempt in cast("dict[str, Attempt | None]", self.tables[Attempt]).values():
            size += len(attempt.output or "") if attempt is not None else 0
        for entry in cast("dict[str, BoardEntry | None]", self.tables[BoardEntry]).values():
            size += len(entry.payload) if entry is not None else 0
        return size

    def _prune_tasks(self) -> int:
        size = 0
        tasks = cast("dict[str, Task | None]", self.tables[Task])
        over: list[str] = []
        for key, task in tasks.items():
            if task is None or _forget(task):
                over.append(key)
            elif task.input is not None:
                size += len(task.input)
        for key in over:
            del tasks[key]
        attempts = cast("dict[str, Attempt | None]", self.tables[Attempt])
        ended = [k for k, a in attempts.items() if a is None or a.state not in ATTEMPT_LIVE]
        for key in ended:
            del attempts[key]
        entries = self.tables[BoardEntry]
        self.forgot = self.forgot or bool(over) or bool(ended) or bool(entries)
        entries.clear()
        return size


def _forget(task: Task) -> bool:
    if task.state in TASK_ENDED:
        return True
    return task.idx >= 0 and task.state in (TaskState.QUEUED, TaskState.PENDING)


def signal_of(event: Event) -> tuple[int, str, Json]:
    data = msgspec.json.decode(event.data, type=dict[str, msgspec.Raw])
    return event.seq, msgspec.json.decode(data["key"]), bytes(data["value"]).decode()


class Workspace:
    """The runs in memory, least recently used first, within a number and a size."""

    def __init__(self, runs_max: int = 4096, bytes_max: int = 256 * 1024 * 1024) -> None:
        self._runs_max = runs_max
        self._bytes_max = bytes_max
        self._bytes = 0
        self._views: OrderedDict[str, LoadedRun] = OrderedDict()
        self._parsed: OrderedDict[str, int] = OrderedDict()
        """Runs whose large parameters are parsed in memory, and what they take."""

    def view(self, run_id: str) -> LoadedRun:
        view = self._views.get(run_id)
        if view is None:
            view = self._views[run_id] = LoadedRun(run_id)
        return view

    def has(self, run_id: str) -> bool:
        """Whether a run is in memory, as those are that go on."""
        return run_id in self._views

    def forget(self, run_id: str) -> None:
        view = self._views.pop(run_id, None)
        if view is not None:
            self._bytes -= view.bytes
            self._parsed.pop(run_id, None)

    def decided(self, view: LoadedRun) -> None:
        """After a decision: of runs with large parameters, only some keep them parsed. A pass may
        go through many such runs, so this does not wait for its end, nor for a run that begins to
        be among the rows."""
        self._parsed[view.run_id] = view.heavy * _PARSED
        self._parsed.move_to_end(view.run_id)
        while sum(self._parsed.values()) > self._bytes_max // 2 and len(self._parsed) > 1:
            oldest, _ = self._parsed.popitem(last=False)
            if oldest in self._views:
                self._views[oldest].memo.clear()

    def settle(self, run_ids: Sequence[str]) -> None:
        """After a commit: keep what is still busy, up to the bound."""
        for run_id in run_ids:
            view = self._views.get(run_id)
            if view is None:
                continue
            run = view.run
            if run is None or run.state in RUN_ENDED or not run.active or view.doubted:
                # Ended, or waiting for a time, a signal or a person: that costs no memory.
                self.forget(run_id)
            else:
                self._bytes -= view.bytes
                view.prune()
                self._bytes += view.bytes
                self._views.move_to_end(run_id)
        while len(self._views) > self._runs_max or self._bytes > self._bytes_max:
            self.forget(next(iter(self._views)))


class Batch:
    """The writes of one pass, one row per key however often a run moved in it."""

    def __init__(self) -> None:
        self._made: defaultdict[type[Row], dict[Any, Row]] = defaultdict(dict)
        self._changed: defaultdict[type[Row], dict[Any, Row]] = defaultdict(dict)
        self._was: defaultdict[type[Row], dict[Any, Row]] = defaultdict(dict)
        self.writes = Writes(
            made=self._made,
            changed=self._changed,
            removed={},
            seqs={},
            was=self._was,
            expired={},
            notices=[],
        )

    def makes(self, rows: Mapping[type[Row], Mapping[Any, Row]]) -> bool:
        """Whether it makes one of these already, that can be made only once."""
        made = self.writes.made
        return any(
            not table.UPSERT and not some.keys().isdisjoint(made.get(table, {}))
            for table, some in rows.items()
        )

    def add(self, decision: Decision, view: "LoadedRun | None") -> None:
        """Add a decision, and to the view it was made from what it changes there."""
        writes = self.writes
        tables: dict[type[Row], dict[Any, Row | None]] = {} if view is None else view.tables
        if view is not None and view.run_id not in writes.seqs:
            run = view.run
            if run is not None and run.id not in self._made[Run]:
                writes.seqs[run.id] = run.seq
        for table, keys in decision.removed.items():
            self._remove(table, keys)
            if view is not None and table in _KNOWN:
                tables[table].update(dict.fromkeys(keys))
        for table, rows in decision.made.items():
            if writes.removed and table in writes.removed:
                writes.removed[table].difference_update(rows)
            self._made[table].update(rows)
            # Events, keys and dead letters are written and never asked for by a decision.
            if view is not None and table in _KNOWN:
                tables[table].update(rows)
        for table, rows in decision.changed.items():
            made, changed, was = self._made[table], self._changed[table], self._was[table]
            known = None if view is None else tables[table]
            for key, row in rows.items():
                if key in made:
                    made[key] = row
                else:
                    if known is not None and key not in was:
                        before = known.get(key)
                        assert before is not None, f"{table.TABLE} {key} changed without being read"
                        was[key] = before
                    changed[key] = row
                if known is not None:
                    known[key] = row
        if decision.graph is not None and view is not None and view.run is not None:
            view.grown = view.run.graph_rev, decision.graph

    def _remove(self, table: type[Row], keys: set[Any]) -> None:
        for rows in (self._made.get(table), self._changed.get(table)):
            if rows:
                for key in keys:
                    rows.pop(key, None)
        self.writes.removed.setdefault(table, set()).update(keys)

    @property
    def empty(self) -> bool:
        writes = self.writes
        return not (any(writes.made.values()) or any(writes.changed.values()) or writes.removed)

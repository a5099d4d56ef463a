"""Runs every check after each commit, and keeps the log that tells two histories apart."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import cast

import msgspec

from windlass.engine.graphs import lower
from windlass.kernel.patching import extended
from windlass.model.effects import Effect, worker_address
from windlass.model.graph import Graph
from windlass.model.patches import GraphPatch, read_patch
from windlass.model.queues import tenant_of
from windlass.model.rows import Binding, Event, Json, Run, Task, Version
from windlass.model.states import RUN_ENDED, TASK_ENDED, TaskState
from windlass.testing.memory import Commit, MemoryDatabase
from windlass.testing.simulator.checks.board import check_board
from windlass.testing.simulator.checks.changes import check_changes
from windlass.testing.simulator.checks.counters import check_counters
from windlass.testing.simulator.checks.envs import check_envs
from windlass.testing.simulator.checks.fold import Folded, check_history
from windlass.testing.simulator.checks.holds import check_holds
from windlass.testing.simulator.checks.joins import check_joins
from windlass.testing.simulator.checks.ledger import check_ledger
from windlass.testing.simulator.checks.letters import check_letters
from windlass.testing.simulator.checks.limits import LimitChecks
from windlass.testing.simulator.checks.pods import PodChecks
from windlass.testing.simulator.checks.results import check_result
from windlass.testing.simulator.checks.routes import check_routes
from windlass.testing.simulator.checks.rows import Broken, RunRows, expect


class Checker:
    """Watches a database; `failed` hears of the first thing that is wrong."""

    def __init__(
        self,
        database: MemoryDatabase,
        reported: Mapping[str, Json],
        failed: Callable[[BaseException], None],
        pods: PodChecks | None = None,
    ) -> None:
        self._db = database
        self._reported = reported
        self._failed = failed
        self._pods = pods
        self._folded: defaultdict[str, Folded] = defaultdict(Folded)
        self._graphs: dict[str, Graph] = {}
        self._grown: dict[str, tuple[int, Graph]] = {}
        self._keys: dict[str, str] = {}
        self._limits = LimitChecks(database)
        self._log = sha256()
        database.watchers.append(self.committed)

    @property
    def digest(self) -> str:
        """The same for two worlds whose events are the same, to the last time and payload."""
        return self._log.hexdigest()

    def committed(self, commit: Commit) -> None:
        try:
            self.check(commit)
        except Broken as error:
            self._failed(Broken(f"{error} (commit {commit.number} by {commit.by})"))
        except Exception as error:  # noqa: BLE001  a check that breaks must not look like a rest
            self._failed(error)

    def check(self, commit: Commit) -> None:
        events: defaultdict[str, list[Event]] = defaultdict(list)
        ended: defaultdict[str, list[Task]] = defaultdict(list)
        for table, _, old, new in commit.changes:
            if table is Event and new is not None and old is None:
                event = cast(Event, new)
                events[event.run_id].append(event)
            elif table is Task and new is not None:
                task, before = cast(Task, new), cast("Task | None", old)
                if before is None and task.attempts and task.state in TASK_ENDED:
                    continue  # a fork's, which was looked at when its run had it done
                if task.state in TASK_ENDED and (before is None or before.state is not task.state):
                    ended[task.run_id].append(task)
            elif table is Run and old is None:
                self._check_key(cast(Run, new))
            elif table is Run and new is not None and has_ended(cast(Run, old), cast(Run, new)):
                self._check_released(cast(Run, new), commit)
        for run_id in sorted(events):
            self._folded[run_id].add(events[run_id])
            for event in events[run_id]:
                self._log.update(msgspec.json.encode(event))
        check_changes(commit, {run_id for run_id in events if self._folded[run_id].reopened})
        self._limits.check(commit)
        check_ledger(self._db, commit)
        check_envs(self._db, commit)
        if self._pods is not None:
            self._pods.check(commit)
        for run_id in sorted({*events, *ended}):
            self._check_run(run_id, ended[run_id])

    def _check_key(self, run: Run) -> None:
        if run.request_id:
            first = self._keys.setdefault(run.request_id, run.id)
            expect(first == run.id, f"key {run.request_id} started {first} and {run.id}")

    def _check_released(self, run: Run, commit: Commit) -> None:
        """The commit that ends a run promises to tell the workers that are bound to it."""
        promised = {
            cast(Effect, new).address
            for table, _, old, new in commit.changes
            if table is Effect and old is None and cast(Effect, new).run_id == run.id
        }
        bound = {worker_address(row.worker_id) for row in self._db.of_run(Binding, run.id)}
        expect(bound <= promised, f"run {run.id} ended and {bound - promised} is not told")

    def _check_run(self, run_id: str, ended: list[Task]) -> None:
        run = self._db.table(Run).get(run_id)
        expect(run is not None, f"run {run_id} is gone")
        assert run is not None
        revisions = sorted(row.rev for row in self._db.of_run(GraphPatch, run_id))
        wanted = list(range(1, run.graph_rev + 1))
        expect(revisions == wanted, f"run {run_id} has the patches {revisions}, not {wanted}")
        rows = RunRows(self._db, run, self._graph(run))
        told = self._folded[run_id]
        for task in rows.tasks.values():
            if task.state is TaskState.QUEUED and task.queue is not None:
                mine = tenant_of(task.queue) == run.tenant
                expect(mine, f"{task.id} of {run.tenant} waits in {task.queue}")
        check_history(rows, told)
        check_counters(rows, told)
        check_holds(rows, told)
        check_letters(self._db, rows)
        if run.graph_rev:
            check_board(self._db, rows)
        for task in ended:
            check_result(rows, task, self._reported)
        if rows.graph.grows or not rows.graph.joins:
            check_routes(rows)
        if rows.graph.joins:
            check_joins(rows)

    def _graph(self, run: Run) -> Graph:
        graph = self._graphs.get(run.version_id)
        if graph is None:
            version = self._db.table(Version)[run.version_id]
            graph = self._graphs[run.version_id] = lower(version)
        if not run.graph_rev:
            return graph
        revision, grown = self._grown.get(run.id, (0, graph))
        for newer in range(revision + 1, run.graph_rev + 1):
            grown = extended(grown, read_patch(self._db.table(GraphPatch)[run.id, newer].patch))
        self._grown[run.id] = run.graph_rev, grown
        return grown


def has_ended(old: Run, new: Run) -> bool:
    return new.state in RUN_ENDED and old.state not in RUN_ENDED

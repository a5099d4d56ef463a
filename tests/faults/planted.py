"""Faults, each a small patch of the product, to show that the simulator finds such things."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pytest

from windlass.drivers.sql.clock import SteadyClock
from windlass.engine import advance, demand, graphs, jobs, passes, runs, workspace
from windlass.engine.loops import leases, orphans, timers
from windlass.kernel import (
    cancel,
    downstream,
    ending,
    grow,
    patching,
    recount,
    reopen,
    reports,
    routing,
    scopes,
    turn,
    visits,
)
from windlass.kernel import requeue as requeuing
from windlass.kernel.decision import NOTHING, Decision
from windlass.kernel.events import AttemptSucceeded, Claim, TimerFired
from windlass.kernel.finish import finish
from windlass.kernel.nodes import call, fanout, subflow
from windlass.kernel.turn import Turn
from windlass.model.errors import Problem
from windlass.model.graph import Edge, Graph, Node
from windlass.model.ids import branch_id, task_of
from windlass.model.rows import (
    Attempt,
    BranchResult,
    Event,
    Idempotency,
    Run,
    Task,
    Timer,
)
from windlass.model.states import TASK_ENDED, AttemptState, TaskState
from windlass.ports.store import Cond
from windlass.protocol.link.windows import Inbound
from windlass.testing.memory import MemoryDatabase
from windlass.worker.link.runner import LinkRunner
from windlass.worker.link.tasks import Tasks

Patch = pytest.MonkeyPatch


class Fault(NamedTuple):
    """A fault: its name, what it stands for, how to plant it."""

    name: str
    sentence: str
    plant: Callable[[Patch], None]
    first: int = 0
    """Where the hunt begins: what shows in one world of a hundred is hunted near such a world."""
    needs: frozenset[str] = frozenset()
    """What a world must have for the fault to matter; others are passed over."""


FAULTS: list[Fault] = []


def fault(
    sentence: str, first: int = 0, needs: Sequence[str] = ()
) -> Callable[[Callable[[Patch], None]], Callable[[Patch], None]]:
    def add(plant: Callable[[Patch], None]) -> Callable[[Patch], None]:
        FAULTS.append(Fault(plant.__name__, sentence, plant, first, frozenset(needs)))
        return plant

    return add


@fault("a result is taken although the attempt has lost its lease")
def dropped_fence(patch: Patch) -> None:
    def live(turn: Turn, attempt_id: str) -> tuple[Task, Attempt]:
        attempt = turn.get(Attempt, attempt_id)
        assert attempt is not None
        return turn.task(task_of(attempt_id)), attempt

    patch.setattr(reports, "live", live)
    patch.setattr(turn, "check_attempt", lambda old, new: None)


@fault("a result that comes twice is acted on twice")
def double_accept(patch: Patch) -> None:
    once = reports.succeeded

    def succeeded(turn: Turn, event: AttemptSucceeded) -> Decision:
        attempt = turn.get(Attempt, event.attempt_id)
        if attempt is None or attempt.state is not AttemptState.SUCCEEDED:
            return once(turn, event)
        task = turn.task(attempt.task_id)
        routing.succeed(turn, task, event.output, "")
        return finish(turn, "attempt.succeeded", task.id, "accepted")

    patch.setattr(reports, "succeeded", succeeded)


@fault("a process that found a queue empty never looks into it again")
def lost_wake_up(patch: Patch) -> None:
    patch.setattr(demand.Demands, "filled", lambda self, queues: None)
    patch.setattr(demand.Demands, "anything", lambda self: None)


@fault("a fan-out joins when one branch is still out")
def join_off_by_one(patch: Patch) -> None:
    right = routing.close_branch

    def close_branch(turn: Turn, branch: Task) -> None:
        container = turn.task(branch.scope)
        if container.open == 2 and container.made == container.total:
            turn.count_scope(container.id, open=-1)
            routing.join(turn, turn.task(container.id))
        else:
            right(turn, branch)

    patch.setattr(routing, "close_branch", close_branch)


@fault("timers that were due before a process started are never fired by it", first=100)
def timer_lost_on_restart(patch: Patch) -> None:
    async def run_once(self: Any) -> int:
        store = self._engine.store
        since = self.__dict__.setdefault("since", store.now())
        due = [Cond("due_at", "<=", store.now()), Cond("due_at", ">=", since)]
        rows = await store.page(Timer, due, order="due_at")
        for row in rows:
            await self._engine.submit(TimerFired(row.id, row.run_id))
        self._next_due_at = None if rows else store.now() + 100
        return len(rows)

    patch.setattr(timers.Timers, "run_once", run_once)


@fault("the store writes without looking at the seq a run was read at")
def seq_check_skipped(patch: Patch) -> None:
    patch.setattr(MemoryDatabase, "check_seq", lambda self, table, key, old, writes: None)
    patch.setattr(Event, "UPSERT", True)


@fault("a task is leased whatever state it is in, and stays in its queue meanwhile")
def claim_ignores_state(patch: Patch) -> None:
    def index_task(self: Any, old: Task | None, new: Task | None) -> None:
        if new is not None and new.queue is not None and new.state is not TaskState.PENDING:
            self._queued[new.queue][new.id] = new
            if new.state in TASK_ENDED:
                del self._queued[new.queue][new.id]

    patch.setattr(MemoryDatabase, "_index_task", index_task)

    def claim(turn: Turn, event: Claim) -> Decision:
        task = turn.get(Task, event.task_id)
        if task is None:
            return NOTHING
        assignment = call.claim(turn, task, event)
        return finish(turn, "attempt.claimed", task.id, assignment)

    patch.setattr(reports, "claim", claim)


@fault("nobody takes work back from a holder that has gone")
def lease_never_expires(patch: Patch) -> None:
    async def run_once(self: leases.Leases) -> int:
        return 0

    patch.setattr(leases.Leases, "run_once", run_once)


@fault("ending a scope forgets one of its open tasks")
def cancel_leaves_a_task_open(patch: Patch) -> None:
    def cancel_below(turn: Turn, scope: str) -> None:
        for task in turn.open_tasks(scope)[:-1]:
            scopes.end_task(turn, task, TaskState.CANCELLED)
        if scope == turn.run.id:
            turn.set_run(open=0)
        else:
            turn.move(turn.task(scope), turn.task(scope).state, open=0)

    for module in (scopes, routing, cancel, subflow):
        patch.setattr(module, "cancel_below", cancel_below)


@fault("a failed try is not counted, so a task is retried for ever")
def retry_counter_not_raised(patch: Patch) -> None:
    right = requeuing.requeue

    def requeue(turn: Turn, task: Task, pause: int, columns: dict[str, Any]) -> None:
        columns.pop("failures", None)
        right(turn, task, pause, columns)

    patch.setattr(call, "requeue", requeue)


@fault("a redo leaves an end without a new generation")
def reopen_without_generation(patch: Patch) -> None:
    right = Turn.move

    def move(self: Turn, task: Task, state: TaskState, **columns: Any) -> Task:
        columns.pop("generation", None)
        return right(self, task, state, **columns)

    patch.setattr(Turn, "move", move)
    patch.setattr(turn, "check_task", lambda old, new, reopened: None)


@fault("a task that goes back to its queue keeps the timer of its last attempt")
def requeue_keeps_its_timer(patch: Patch) -> None:
    right = Turn.drop_timer

    def drop_timer(self: Turn, task_id: str, kind: str) -> None:
        if kind != "timeout":
            right(self, task_id, kind)

    patch.setattr(Turn, "drop_timer", drop_timer)


@fault("the results of a fan-out are gathered in the order they happen to stand in memory")
def wrong_aggregate_order(patch: Patch) -> None:
    right = Turn.branch_results

    def branch_results(self: Turn, container: str) -> list[BranchResult]:
        return right(self, container)[::-1]

    patch.setattr(Turn, "branch_results", branch_results)


@fault("a failed branch is counted twice")
def branch_counted_twice(patch: Patch) -> None:
    right = Turn.count_scope

    def count_scope(self: Turn, scope: str, **deltas: int) -> int:
        if deltas.get("failed"):
            deltas["failed"] = 2
        return right(self, scope, **deltas)

    patch.setattr(Turn, "count_scope", count_scope)


@fault("a signal is kept, and the task that waits for it is not told")
def signal_not_seen(patch: Patch) -> None:
    def waiting_tasks(self: workspace.LoadedRun, run_id: str, key: str) -> Sequence[Task]:
        return []

    patch.setattr(workspace.LoadedRun, "waiting_tasks", waiting_tasks)


@fault("the next node is not visited when the way there has a name of its own")
def follow_up_visit_lost(patch: Patch) -> None:
    right = routing.leave

    def leave(turn: Turn, task: Task, fired: Sequence[Edge]) -> None:
        right(turn, task, [edge for edge in fired if edge.on == "default"])

    patch.setattr(routing, "leave", leave)


@fault("two starts with one key at the same moment make two runs")
def duplicate_start(patch: Patch) -> None:
    async def find_by_key(engine: Any, row: Idempotency) -> Run | None:
        return None

    patch.setattr(runs, "find_by_key", find_by_key)
    patch.setattr(Idempotency, "UPSERT", True)


@fault("rows in memory are kept although another process was faster")
def stale_cache_after_raced(patch: Patch) -> None:
    patch.setattr(passes.Pass, "undo", lambda self: None)


@fault("a branch whose turn it is is counted as released and stays where it is")
def released_branch_skipped(patch: Patch) -> None:
    right = routing.release_next

    def release_next(turn: Turn, container: Task, node: Node) -> None:
        if container.released == 2 and container.released < container.made:
            turn.task(branch_id(container.id, container.released))
            turn.count_scope(container.id, released=1)
        else:
            right(turn, container, node)

    patch.setattr(routing, "release_next", release_next)


@fault("after a broken connection the commit is taken for done")
def commit_taken_for_done(patch: Patch) -> None:
    async def was_committed(self: advance.Advance, writes: Any) -> bool:
        return True

    patch.setattr(advance.Advance, "_was_committed", was_committed)


# The link and its workers


@fault("a result that came while the link was down is never sent", first=790)
def silence_after_a_cut(patch: Patch) -> None:
    def catch_up(self: LinkRunner, *, resumed: bool) -> None:
        """Sends again only what had been sent before."""

    patch.setattr(LinkRunner, "_catch_up", catch_up)


@fault("a task that is stopped before its first step keeps its slot")
def slot_kept_by_the_stopped(patch: Patch) -> None:
    patch.setattr(Tasks, "_never_began", lambda self, running: None)


@fault("tasks that wait for a worker which is gone wait for ever")
def orphans_left_alone(patch: Patch) -> None:
    async def run_once(self: orphans.OrphanedTasks) -> int:
        return 0

    patch.setattr(orphans.OrphanedTasks, "run_once", run_once)


@fault("an acknowledgement covers frames that were not settled")
def acknowledged_too_much(patch: Patch) -> None:
    right = Inbound.receive

    def receive(self: Inbound[Any], seq: int, frame: Any) -> list[tuple[int, Any]]:
        found = right(self, seq, frame)
        self.base = max(self.base, seq)
        return found

    patch.setattr(Inbound, "receive", receive)


@fault("a join begins when one edge too few has arrived")
def join_begins_early(patch: Patch) -> None:
    right = visits.new_task

    def new_task(turn: Turn, scope: str, path: str, **more: Any) -> Task:
        task = right(turn, scope, path, **more)
        if turn.graph.joins.get(path, 0) > 1 and path in turn.graph.joins:
            turn.graph.joins[path] -= 1
        return task

    patch.setattr(visits, "new_task", new_task)


@fault("what nobody can read is taken where it enters")
def poison_taken(patch: Patch) -> None:
    patch.setattr(runs, "readable", lambda text, what: str(text))
    patch.setattr(runs, "readable_object", lambda text, what: str(text))


@fault("a clock that is set back is waited for")
def clock_waited_for(patch: Patch) -> None:
    def now(self: SteadyClock) -> int:
        self._now = max(self._now, self._wall())
        return self._now

    patch.setattr(SteadyClock, "now", now)


# Redoing part of a graph with joins


@fault("a join that is redone waits for the edges of what was kept as well")
def kept_edges_forgotten(patch: Patch) -> None:
    def recount_one(turn: Turn, row: Task, settled: recount.Settled) -> None:
        turn.move(row, row.state, edges_open=turn.graph.joins[row.node], edges_fired=0)

    patch.setattr(recount, "_recount_one", recount_one)


@fault("a redo supersedes what follows a task at once, and not what follows that")
def redo_stops_short(patch: Patch) -> None:
    right = downstream.downstream

    def near_ones(graph: Any, tasks: Sequence[Task], task: Task) -> list[Task]:
        near = {edge.target for edge in graph.edges.get(task.node, ())}
        return [row for row in right(graph, tasks, task) if row.node in near]

    patch.setattr(reopen, "downstream", near_ones)


# Graphs that grow


@fault("a process that has an older graph of a run goes on deciding on it")
def stale_graph(patch: Patch) -> None:
    right = graphs.Graphs.of_run

    def of_run(self: graphs.Graphs, run: Run) -> Graph | None:
        known = self._grown.get(run.id)
        return right(self, run) if known is None else known[1]

    patch.setattr(graphs.Graphs, "of_run", of_run)
    patch.setattr(workspace.LoadedRun, "graph_at", lambda self, revision: None)


@fault("a patch that comes again, as its answer was lost, is taken again")
def patch_taken_twice(patch: Patch) -> None:
    right = patching.problems_of

    def problems_of(*given: Any) -> list[Problem]:
        return [problem for problem in right(*given) if "already" not in problem.reason]

    patch.setattr(grow, "already", lambda turn, patch, revision: None)
    patch.setattr(grow, "problems_of", problems_of)


# Tenants, and what is promised outside


@fault("branches of a fan-out wait where everybody's do, whosever the run is")
def branch_without_tenant(patch: Patch) -> None:
    patch.setattr(fanout, "queue_of", lambda turn, target: target.queue)


@fault("whoever knows a run's id may steer it")
def any_tenant_steers(patch: Patch) -> None:
    right = jobs.Job.__init__

    def made(
        self: jobs.Job, event: Any, answer: Any = None, along: Any = (), tenant: Any = ""
    ) -> None:
        right(self, event, answer, along)

    patch.setattr(jobs.Job, "__init__", made)


@fault("a run ends without a word to the workers that keep something for it")
def release_forgotten(patch: Patch) -> None:
    patch.setattr(ending, "let_go", lambda turn, worker_id: None)

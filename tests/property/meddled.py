"""A run that people and failures get in the way of, and what it comes to in the end.

What a handler says follows from its node and its input, so a value that went astray anywhere shows
at the end.
"""

import json
import random
from collections import Counter
from hashlib import blake2b
from typing import Any

import msgspec

from windlass.kernel.bounds import Limits
from windlass.kernel.downstream import downstream, first_caller
from windlass.kernel.events import (
    AttemptFailed,
    AttemptSucceeded,
    CancelRequested,
    RetryRequested,
    TimerFired,
)
from windlass.model.errors import Conflict
from windlass.model.graph import Graph, Kind
from windlass.model.rows import Attempt, Failure, Task, Timer, Variable
from windlass.model.states import RUN_ENDED, TASK_ENDED, RunState, TaskState
from windlass.testing.played import Played


def answer(node: str, given: str | None, salt: int = 0) -> dict[str, Any]:
    """What a handler says: some digits, a list, and whether to go on along conditional edges."""
    text = f"{node} {canonical(given)} {salt}"
    digest = blake2b(text.encode(), digest_size=4).hexdigest()
    number = int(digest, 16)
    return {"v": digest, "items": list(range(number % 4)), "go": bool(number >> 4 & 1)}


def canonical(text: str | None) -> str | None:
    """JSON whatever the order of its keys: what a container hands out is in the order it came."""
    return text and json.dumps(json.loads(text), sort_keys=True)


class Meddled:
    """A run that people and failures get in the way of; handlers are those of a fresh one."""

    def __init__(self, graph: Graph, seed: int) -> None:
        self.rng = random.Random(seed)
        self.run = Played(graph, limits=Limits(branches_per_turn=2))
        self.salts: dict[str, int] = {}
        """Nodes whose handlers say something else by now."""

    def work(self, task: Task) -> None:
        said = answer(task.node, task.input, self.salts.get(task.node, 0))
        self.run.succeed(task.id, said)

    def fire_timers(self) -> bool:
        rows: Any = list(self.run.tables.get(Timer, {}).values())
        for timer in rows:
            self.run.now = max(self.run.now, timer.due_at)
            self.run.send(TimerFired(timer.id, timer.run_id))
        return bool(rows)

    def finish(self) -> None:
        while True:
            if queued := self.run.queued():
                self.work(self.rng.choice(queued))
            elif not self.fire_timers():
                return

    def redo(self, *, salted: bool = False) -> None:
        """Retry from some task; what did not come of it must stay as it is."""
        run = self.run
        tasks = [t for t in run.tasks() if t.state is not TaskState.SUPERSEDED]
        task = self.rng.choice(tasks)
        if salted:
            calls = [t for t in tasks if t.kind == Kind.CALL and t.attempts and t.idx < 0]
            if not calls:
                return
            task = self.rng.choice(calls)
            # A handler that every iteration calls says something else from the first one on.
            task = min((t for t in calls if t.node == task.node), key=lambda t: t.made_seq)
            self.salts[task.node] = self.salts.get(task.node, 0) + 1
        before = {row.id: row for row in run.all_tasks("")}
        try:
            redone = run.send(RetryRequested(run.row().id, task.id, descendants=True))
        except Conflict:
            assert task.state is TaskState.PENDING or task.edges_open, "it was refused for nothing"
            return
        self.check_kept(before, redone)

    def check_kept(self, before: dict[str, Task], redone: str) -> None:
        rows = list(before.values())
        task = first_caller(self.run.graph, rows, before[redone])
        came_of_it = {row.id for row in downstream(self.run.graph, rows, task)}
        around = {row.id for row in rows if task.id.startswith(row.id)}
        for row in rows:
            if row.id in came_of_it or row.id in around:
                continue
            if row.state is TaskState.SUCCEEDED:
                assert self.run.task(row.id) == row, "what still stands was touched"

    def meddle(self) -> None:
        run, rng = self.run, self.rng
        deed = rng.random()
        queued = run.queued()
        if deed < 0.15:
            self.redo()
        elif deed < 0.2 and queued:
            run.fail(rng.choice(queued).id)
        elif deed < 0.25 and run.state() not in RUN_ENDED:
            self.cancel()
        elif run.state() in (RunState.FAILED, RunState.CANCELLED):
            self.retry()
        elif queued and deed < 0.9:
            self.work(rng.choice(queued))
        else:
            self.fire_timers()

    def cancel(self) -> None:
        """Cancel the run while some of it is in hand, and end that in any way."""
        run, rng = self.run, self.rng
        held = [run.claim(task.id).attempt_id for task in run.queued() if rng.random() < 0.5]
        run.send(CancelRequested(run.row().id))
        for attempt in held:
            if rng.random() < 0.5:
                task = run.task(attempt.rpartition("@")[0])
                said = answer(task.node, task.input, self.salts.get(task.node, 0))
                run.send(AttemptSucceeded(attempt, msgspec.json.encode(said).decode()))
            else:
                run.send(AttemptFailed(attempt, Failure("cancelled", "stopped")))
        self.fire_timers()
        assert run.state() is RunState.CANCELLED

    def retry(self) -> None:
        try:
            self.run.send(RetryRequested(self.run.row().id))
        except Conflict as error:
            # Everything was done when the run was cancelled, or a task could not begin.
            if "no failed task" not in str(error) and "would fail again" not in str(error):
                raise
            self.redo()

    def settle(self) -> None:
        """Bring the run to its end, whatever it takes."""
        for _ in range(200):
            self.finish()
            if self.run.state() is RunState.SUCCEEDED:
                return
            self.retry()
        raise AssertionError("the run never ended well")


def told(run: Played) -> dict[str, Any]:
    """What a run comes to: how each task stands, and what is shared where something began."""
    tasks: dict[str, Any] = {
        task.id: (str(task.state), given_to(task), canonical(task.output), task.action)
        for task in run.tasks()
        if task.state is not TaskState.SUPERSEDED
    }
    variables: Any = run.tables.get(Variable, {}).values()
    begun = {key for key, (state, *_) in tasks.items() if state != "skipped"} | {run.row().id}
    for row in variables:
        if row.scope in begun:
            tasks[f"{row.scope}: {row.key}"] = canonical(row.value)
    return tasks


def given_to(task: Task) -> str | None:
    """What a task began with; one that is skipped the second time may have begun the first."""
    return None if task.state is TaskState.SKIPPED else canonical(task.input)


def check_counters(run: Played) -> None:
    row = run.row()
    assert (row.open, row.active) == (0, 0)
    made = Counter(t.scope for t in run.tasks() if t.state is not TaskState.SUPERSEDED)
    assert row.made == made[row.id]
    attempts = run.tables.get(Attempt, {}).keys()
    for task in run.tasks():
        assert task.state in TASK_ENDED
        assert task.open == 0
        assert task.made == made[task.id] or task.state is TaskState.SUPERSEDED
        assert {f"{task.id}@{n}" for n in range(1, task.attempts + 1)} <= attempts
    assert not run.tables.get(Timer)

"""All rows of one run as the checks read them."""

from collections import defaultdict

from windlass.model.graph import Graph, Node
from windlass.model.rows import Attempt, Checkpoint, Run, Task, Timer, Variable
from windlass.testing.memory import MemoryDatabase


class Broken(Exception):
    """An invariant does not hold."""


class RunRows:
    """One run, its graph, and everything that belongs to it."""

    def __init__(self, database: MemoryDatabase, run: Run, graph: Graph) -> None:
        self.run = run
        self.graph = graph
        self.tasks: dict[str, Task] = {task.id: task for task in database.of_run(Task, run.id)}
        self.children: defaultdict[str, list[Task]] = defaultdict(list)
        for task in self.tasks.values():
            self.children[task.scope].append(task)
        self.attempts: defaultdict[str, list[Attempt]] = defaultdict(list)
        for attempt in database.of_run(Attempt, run.id):
            self.attempts[attempt.task_id].append(attempt)
        self.timers: dict[str, Timer] = {row.id: row for row in database.of_run(Timer, run.id)}
        self.checkpoints: dict[str, Checkpoint] = {
            row.id: row for row in database.of_run(Checkpoint, run.id)
        }
        self._database = database

    def node(self, task: Task) -> Node:
        return self.graph.nodes[task.node]

    def variables(self, scope: str) -> dict[str, str]:
        rows = self._database.of_run(Variable, self.run.id)
        return {row.key: row.value for row in rows if row.scope == scope}


def expect(truth: bool, what: str) -> None:
    if not truth:
        raise Broken(what)

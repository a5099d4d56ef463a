"""Port graphs: a node begins once, when every edge into it is settled, and only if one fired."""

from collections import defaultdict

import msgspec

from windlass.kernel.expressions import holds
from windlass.kernel.planning.settings import visited_seq
from windlass.kernel.values import walk
from windlass.model.graph import Edge, Kind, Ref, Root
from windlass.model.rows import Task
from windlass.model.states import TASK_ENDED, AttemptState, TaskState
from windlass.testing.simulator.checks.rows import RunRows, expect

_NEVER_BEGAN = (TaskState.PENDING, TaskState.CANCELLED)


def check_joins(rows: RunRows) -> None:
    incoming: defaultdict[str, list[Edge]] = defaultdict(list)
    for edges in rows.graph.edges.values():
        for edge in edges:
            if edge.target is not None:
                incoming[edge.target].append(edge)
    for scope, tasks in list(rows.children.items()):
        if is_outgrown(rows, scope):
            ended = rows.tasks[scope].state in TASK_ENDED
            expect(ended, f"{scope} goes on in a graph that is of a later visit")
            continue
        by_node: dict[str, Task] = {}
        for task in tasks:
            if task.state is TaskState.SUPERSEDED or task.node not in rows.graph.joins:
                continue  # It counts for nothing until it is visited again, or waits for no edge.
            expect(task.node not in by_node, f"{task.node} was visited twice in {scope}")
            by_node[task.node] = task
        for task in by_node.values():
            check_node(rows, task, incoming[task.node], by_node)


def is_outgrown(rows: RunRows, scope: str) -> bool:
    """Whether a scope is a plan whose node was visited again since: the graph is that one's."""
    plan = rows.tasks.get(scope)
    return (
        plan is not None
        and plan.kind == Kind.PLAN
        and any(
            t.node == plan.node and visited_seq(t) > visited_seq(plan) for t in rows.tasks.values()
        )
    )


def check_node(rows: RunRows, task: Task, edges: list[Edge], by_node: dict[str, Task]) -> None:
    if not edges:
        return
    before = [by_node.get(edge.source) for edge in edges]
    settled = [b is not None and is_settled(rows, b) for b in before]
    if task.state not in _NEVER_BEGAN:
        expect(all(settled), f"{task.id} is {task.state} before all edges into it are settled")
        # A task of a plan needs all that it depends on.
        enough = any if rows.node(task).planned is None else all
        fired = enough(
            fires(edge, source) for edge, source in zip(edges, before, strict=True) if source
        )
        began = task.state is not TaskState.SKIPPED or was_worked_on(rows, task)
        expect(fired == began, f"{task.id} is {task.state} although its edges fired: {fired}")
    elif task.state is TaskState.PENDING:
        still = settled.count(False)
        expect(task.edges_open == still, f"{task.id} waits for {task.edges_open}, not {still}")


def is_settled(rows: RunRows, task: Task) -> bool:
    """Whether what comes after an ended task knows: a plan's failed task may leave that open."""
    planned = rows.node(task).planned
    if task.state is TaskState.FAILED and planned is not None:
        return task.action == "continue"
    return task.state in TASK_ENDED


def was_worked_on(rows: RunRows, task: Task) -> bool:
    """Whether a worker said that there was nothing to do, rather than nobody asking it: its word
    ended the task. Attempts from before a redo say nothing."""
    newest = max(rows.attempts[task.id], key=lambda attempt: attempt.number, default=None)
    return (
        newest is not None
        and newest.state is AttemptState.SUCCEEDED
        and newest.finished_at == task.finished_at
    )


def fires(edge: Edge, source: Task) -> bool:
    """Whether an ended task's edge leads on."""
    if source.state is not TaskState.SUCCEEDED:
        return False
    if edge.when is None:
        return True
    results = msgspec.json.decode(source.output or "{}")

    def read(ref: Ref) -> object:
        if ref.root is Root.LITERAL:
            return ref.literal
        return walk({"results": results}, ref.path)

    return holds(edge.when, read)

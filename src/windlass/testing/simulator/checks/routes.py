"""The way a run took: each task was led to by the one before, and none was left out."""

from itertools import pairwise

import msgspec

from windlass.model.graph import Graph, Kind, Strategy
from windlass.model.rows import Failure, Task
from windlass.model.states import RunState, TaskState
from windlass.testing.simulator.checks.rows import RunRows, expect

_WENT_ON = (TaskState.SUCCEEDED, TaskState.FAILED)


def check_routes(rows: RunRows) -> None:
    for scope, tasks in list(rows.children.items()):
        steps = [t for t in tasks if t.idx < 0 and t.state is not TaskState.SUPERSEDED]
        if not steps or is_planned(rows, scope):
            continue
        steps.sort(key=lambda task: task.step)
        check_first(rows, scope, steps[0])
        for before, after in pairwise(steps):
            led = next_node(rows.graph, before) if before.state in _WENT_ON else None
            expect(
                led == after.node,
                f"{before.id} is {before.state} and leads to {led}, but {after.id} followed",
            )
        if ended_well(rows, scope):
            led = next_node(rows.graph, steps[-1]) if steps[-1].state in _WENT_ON else None
            expect(led is None, f"{scope} has ended although {steps[-1].id} leads to {led}")


def is_planned(rows: RunRows, scope: str) -> bool:
    """Whether a scope is the inside of a plan, whose tasks join; perhaps of an earlier visit, of
    which the graph knows nothing any more."""
    return scope in rows.tasks and rows.tasks[scope].kind == Kind.PLAN


def check_first(rows: RunRows, scope: str, task: Task) -> None:
    path = "" if scope == rows.run.id else rows.tasks[scope].node
    starts = rows.graph.starts[path]
    expect(task.node in starts, f"{scope} began with {task.node} rather than {starts}")


def ended_well(rows: RunRows, scope: str) -> bool:
    """Whether a scope came to its own end, rather than being failed or cancelled as a whole."""
    if scope == rows.run.id:
        return rows.run.state is RunState.SUCCEEDED
    container = rows.tasks[scope]
    return (
        container.state is TaskState.SUCCEEDED
        and rows.node(container).strategy is not Strategy.CONTINUE
    )


def next_node(graph: Graph, task: Task) -> str | None:
    """Where a task that ended leads, by the rules of the definition."""
    node = graph.nodes[task.node]
    if task.state is TaskState.SUCCEEDED:
        actions = [task.action, "default"]
    else:
        failure = msgspec.json.decode(task.error or '{"kind":"","message":""}', type=Failure)
        actions = ["timeout", "error"] if failure.kind == "timeout" else ["error"]
        if not graph.fails_run:
            actions += [node.action.static, "default"]
    edges = graph.edges.get(task.node, ())
    for action in actions:
        for edge in edges:
            if action and edge.on == action:
                return edge.target
    return None

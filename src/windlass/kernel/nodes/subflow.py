"""Subflow nodes: a graph inside a node, with shared state of its own."""

import msgspec

from windlass.kernel.routing import fail, subflow_output
from windlass.kernel.scopes import cancel_below
from windlass.kernel.turn import Turn, Visit
from windlass.model.graph import Node
from windlass.model.rows import Failure, Task, Variable
from windlass.model.states import TaskState


def visit(turn: Turn, task: Task, node: Node) -> None:
    container = msgspec.structs.replace(task, state=TaskState.RUNNING, started_at=turn.now)
    if node.timeout_ms:
        container = msgspec.structs.replace(container, due_at=turn.now + node.timeout_ms)
        turn.set_timer(task.id, "timeout", turn.now + node.timeout_ms)
    turn.make_task(container)
    if task.generation:
        # Visited before and superseded since: nothing of that is said any more.
        for key in turn.variables(task.id):
            turn.remove(Variable, (task.id, key))
    turn.visits += [Visit(task.id, path) for path in turn.graph.starts[node.path]]


def timed_out(turn: Turn, task: Task) -> None:
    """The whole subflow took too long: what is still open in it is cancelled."""
    cancel_below(turn, task.id)
    text = f"not finished within {turn.node(task).timeout_ms} ms"
    fail(turn, turn.task(task.id), Failure("timeout", text), subflow_output(turn, task))

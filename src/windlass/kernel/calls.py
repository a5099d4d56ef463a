"""Calling for the next node: how the tasks of a chain of middlewares reach each other.

A middleware's attempt runs on a worker while it waits for what it called for; both are tasks of
one scope. The called task's id follows from the call, so asking twice finds the same task, and a
crash of anybody in between loses nothing: the rows say what was called for and how it ended.
"""

from typing import Any

from msgspec.structs import replace

from windlass.kernel.entry import may_begin
from windlass.kernel.fills import task_input
from windlass.kernel.turn import Turn
from windlass.kernel.values import encode, parse
from windlass.kernel.visits import VISIT, new_task
from windlass.model.assignment import Called
from windlass.model.errors import Conflict
from windlass.model.graph import Node
from windlass.model.ids import called_id
from windlass.model.rows import Attempt, Json, Task
from windlass.model.values import is_object


def find_called(turn: Turn, task: Task, attempt: Attempt, request: str) -> Task | None:
    """The task an attempt called for by this request already, if it did."""
    node = turn.node(task)
    if not node.next:
        raise Conflict(f"node {node.path} has nothing after it to call for")
    return turn.get(Task, called_id(task.scope, node.next, attempt.id, request))


def call_next(turn: Turn, task: Task, attempt: Attempt, request: str, payload: Json | None) -> Task:
    """Visit the next node for an attempt that waits for it."""
    if turn.cancelling:
        raise Conflict(f"run {task.run_id} is being cancelled; nothing more is begun")
    node = turn.graph.nodes[turn.node(task).next]
    key = called_id(task.scope, node.path, attempt.id, request)
    fresh = replace(
        new_task(turn, task.scope, node.path), id=key, input=called_input(turn, task, node, payload)
    )
    if may_begin(turn, fresh, node):
        VISIT[node.kind](turn, fresh, node)
    return turn.task(key)


def called_input(turn: Turn, task: Task, node: Node, payload: Json | None) -> Json | None:
    """The node's input; an object `parameters` in the payload is laid over it."""
    text = task_input(turn, task.scope, node)
    given: Any = parse(payload)
    over: Any = given.get("parameters") if is_object(given) else None
    if not is_object(over):
        return text
    known: Any = parse(text)
    return encode({**(known if is_object(known) else {}), **over})


def as_called(task: Task) -> Called:
    return Called(task.id, task.state, task.output, task.error)

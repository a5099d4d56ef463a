"""Timer nodes: wait a while, holding nothing but a row."""

from typing import Any

import msgspec

from windlass.kernel.routing import fail, succeed
from windlass.kernel.turn import Turn
from windlass.kernel.values import Reader
from windlass.model.graph import Node
from windlass.model.rows import Failure, Task
from windlass.model.states import TaskState


def duration_ms(value: Any) -> int | None:
    """A duration somebody named, in milliseconds; None if it is not one."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e15:
        return None
    return int(value)


def visit(turn: Turn, task: Task, node: Node) -> None:
    assert node.delay is not None
    value = Reader(turn, task.scope, node.path, task.input).value(node.delay)
    delay = duration_ms(value)
    if delay is None:
        task = turn.make_task(task)
        text = f"delay_ms must be a number of milliseconds, it is {value!r}"
        fail(turn, task, Failure("fatal", text))
        return
    due_at = turn.now + delay
    turn.make_task(
        msgspec.structs.replace(task, state=TaskState.WAITING, due_at=due_at, started_at=turn.now)
    )
    turn.set_timer(task.id, "delay", due_at)


def due(turn: Turn, task: Task) -> None:
    succeed(turn, task, task.input or "null", turn.node(task).action.static)

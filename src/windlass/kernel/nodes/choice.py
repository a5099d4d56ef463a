"""Choice nodes: take the action of the first case that holds. They end at once."""

from typing import Any

from windlass.kernel.expressions import holds
from windlass.kernel.routing import succeed, text_action
from windlass.kernel.turn import Turn
from windlass.kernel.values import Reader, parse
from windlass.model.graph import Node
from windlass.model.rows import Json, Task
from windlass.model.values import is_object


def visit(turn: Turn, task: Task, node: Node) -> None:
    task = turn.make_task(task)
    reader = Reader(turn, task.scope, node.path, task.input)
    succeed(turn, task, task.input or "null", choose(node, reader))


def choose(node: Node, reader: Reader) -> str:
    for case in node.cases:
        if holds(case.when, reader.value):
            return case.action
    return node.action.static or keyed_action(node, reader)


def keyed_action(node: Node, reader: Reader) -> str:
    """An action named by a field of the input or, failing that, by a shared key."""
    key = node.action.key
    if not key:
        return ""
    given: Any = parse(reader.input)
    if is_object(given) and key in given:
        return text_action(given[key])
    if key == "v":
        return text_action(given)
    found: Json | None = reader.shared(key)
    return text_action(parse(found))

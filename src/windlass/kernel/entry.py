"""What must hold before a task begins: its node's condition, and the shape of its parameters."""

from windlass.kernel.conditions import Facts
from windlass.kernel.routing import fail, skip
from windlass.kernel.schemas import flaw_of
from windlass.kernel.turn import Turn
from windlass.kernel.values import parse
from windlass.model.graph import Node
from windlass.model.rows import Failure, Task
from windlass.model.values import is_template


def may_begin(turn: Turn, task: Task, node: Node) -> bool:
    """Whether a task with its input may begin; if not, it is skipped or failed here."""
    if not Facts(turn, task.input).hold(node.when):
        skip(turn, turn.make_task(task))
        return False
    if node.params_schema:
        flaw = flaw_of(parse(task.input), node.params_schema, "parameters", is_template)
        if flaw:
            failure = Failure("fatal", flaw, code="E.CMD.INVALID_PARAMETERS")
            fail(turn, turn.make_task(task), failure)
            return False
    return True

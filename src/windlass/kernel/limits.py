"""Limits as the kernel sees them: which keys a task's attempts are under, and waiting for one.

Keys are made once, when a task is made, of what it has in hand then; from there on nobody evaluates
anything, whoever hands the task out or takes it back. Whether there is room is not decided here.
"""

from functools import lru_cache

from windlass.kernel.turn import Turn
from windlass.kernel.values import Reader
from windlass.model.graph import LimitSpec, Node, Ref
from windlass.model.limits import KEY_CHARS_MAX, Limit, write_limits
from windlass.model.rows import Json, Task
from windlass.model.states import TaskState


class NoLimitKey(Exception):
    """A key cannot be made of the values there are."""


def limits_of(turn: Turn, task: Task, node: Node) -> Json:
    """What a task's attempts are under; `NoLimitKey` if a key has no value."""
    known = constant(node.limits)
    if known is not None:
        return known
    reader = Reader(turn, task.scope, node.path, task.input)
    return write_limits(
        Limit(key_of(reader, spec), spec.max, spec.rate, spec.per_ms, spec.burst)
        for spec in node.limits
    )


@lru_cache(maxsize=4096)
def constant(specs: tuple[LimitSpec, ...]) -> Json | None:
    """The same for limits whose keys are the same for all tasks; None for others."""
    if any(isinstance(part, Ref) for spec in specs for part in spec.key):
        return None
    return write_limits(
        Limit("".join(map(str, spec.key)), spec.max, spec.rate, spec.per_ms, spec.burst)
        for spec in specs
    )


def key_of(reader: Reader, spec: LimitSpec) -> str:
    key = "".join(
        part if isinstance(part, str) else text_of(reader, part, spec) for part in spec.key
    )
    if len(key) > KEY_CHARS_MAX or "\0" in key:
        raise NoLimitKey(
            f'limit "{spec.text}": a key of {len(key)} characters; it may have {KEY_CHARS_MAX},'
            " and no NUL"
        )
    return key


def text_of(reader: Reader, ref: Ref, spec: LimitSpec) -> str:
    match reader.value(ref):
        case str() as text:
            return text
        case bool() as flag:
            return "true" if flag else "false"
        case int() | float() as number:
            return str(number)
        case _:
            where = ".".join(str(step) for step in (ref.root, *ref.path))
            raise NoLimitKey(
                f'limit "{spec.text}": {where} is no text, number or boolean; give it a value'
            )


def park(turn: Turn, task: Task, limit: str) -> None:
    """Wait outside the queue. The task keeps its age, and with it its place in the line."""
    turn.move(task, TaskState.WAITING, parked=limit)


def wake(turn: Turn, task: Task) -> None:
    turn.move(task, TaskState.QUEUED)

"""Limits as the kernel sees them: which keys a task's attempts are under, and waiting for one.

Keys are made once, when a task is made, of what it has in hand then; from there on nobody evaluates
anything, whoever hands the task out or takes it back. Whether there is room is not decided here.
"""

from functools import lru_cache

from windlass.kernel.budgets import ask_to_raise, budgets_of, is_asking
from windlass.kernel.events import BudgetQuestion
from windlass.kernel.scopes import close_checkpoint
from windlass.kernel.turn import Turn
from windlass.kernel.values import Reader
from windlass.model.envs import env_key, is_env_key
from windlass.model.graph import LimitSpec, Node, Ref
from windlass.model.limits import (
    FORBIDDEN,
    KEY_CHARS_MAX,
    Limit,
    image_key,
    read_limits,
    write_limits,
)
from windlass.model.quotas import is_reserved, project_mark, wants_of
from windlass.model.rows import Json, Task
from windlass.model.states import CheckpointState, TaskState


class NoLimitKey(Exception):
    """A key cannot be made of the values there are."""


def limits_of(turn: Turn, task: Task, node: Node) -> Json:
    """What a task's attempts are under; `NoLimitKey` if a key has no value."""
    also = list(budgets_of(turn, task, node)) if turn.budget or node.budget else []
    if node.env:
        also.append(Limit(env_key(node.env)))
    if turn.project:
        also.append(project_mark(turn.project))
    if node.target is not None and node.target.pod is not None:
        also.append(Limit(image_key(node.target.pod.image)))
        also += wants_of(node.target.pod)
    known = constant(node.limits)
    if known is not None:
        return write_limits([*read_limits(known), *also]) if also else known
    reader = Reader(turn, task.scope, node.path, task.input)
    keys = (
        Limit(key_of(reader, spec), spec.max, spec.rate, spec.per_ms, spec.burst)
        for spec in node.limits
    )
    return write_limits([*keys, *also])


def is_limited(turn: Turn, node: Node) -> bool:
    """Whether tasks of a node are under any limits."""
    if node.limits or node.budget or turn.budget or node.env or turn.project:
        return True
    return node.target is not None and node.target.pod is not None


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
    if len(key) > KEY_CHARS_MAX or not FORBIDDEN.isdisjoint(key):
        raise NoLimitKey(
            f'limit "{spec.text}": a key of {len(key)} characters; it may have {KEY_CHARS_MAX},'
            " and no NUL or tab"
        )
    if is_env_key(key):
        text = "keys that begin so are of environments; name one with the node's env"
        raise NoLimitKey(f'limit "{spec.text}": {text}')
    if is_reserved(key):
        raise NoLimitKey(f'limit "{spec.text}": keys that begin so are of quotas')
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


def park(turn: Turn, task: Task, limit: str, question: BudgetQuestion | None = None) -> None:
    """Wait outside the queue. The task keeps its age, and with it its place in the line."""
    task = turn.move(task, TaskState.WAITING, parked=limit)
    if question is not None:
        ask_to_raise(turn, task, question)


def wake(turn: Turn, task: Task) -> None:
    if is_asking(task):
        close_checkpoint(turn, task, CheckpointState.CANCELLED)
    turn.move(task, TaskState.QUEUED, wait_key=None)

"""The input of a node with parameters of its own: these, with what its edges carry filled in.

Values come in the order in which the tasks they are read from ended, so where two write the same
place the last to finish wins. Nothing is copied that is not on the way to a filled place.
"""

from collections.abc import Sequence
from typing import Any, Final

from windlass.kernel.conditions import Facts
from windlass.kernel.turn import Turn
from windlass.kernel.values import Reader, encode, parse, step_index
from windlass.model.graph import Fill, Node, Ref, Root, Step
from windlass.model.ids import task_id
from windlass.model.rows import Json, Task
from windlass.model.states import TaskState
from windlass.model.values import is_list, is_object

_OF_A_TASK = (Root.RESULTS, Root.PARAMETERS)


class _Missing:
    """Stands for a value that is not there; null is one that is."""


MISSING: Final = _Missing()


def task_input(turn: Turn, scope: str, node: Node) -> Json | None:
    """What a task of a node gets, read as it begins."""
    if node.fills is None:
        return Reader(turn, scope, node.path, None).build(node.input)
    return encode(Filling(turn, scope, node).parameters(node.fills))


class Filling:
    """Reads what a node's edges carry, each source once."""

    def __init__(self, turn: Turn, scope: str, node: Node) -> None:
        self._turn = turn
        self._scope = scope
        self._node = node
        self._tasks: dict[str, Task | None] = {}
        self._parsed: dict[tuple[Root, str], Any] = {}

    def parameters(self, fills: Sequence[Fill]) -> dict[str, Any]:
        """The node's parameters with every value that is there in its place."""
        self._load(fills)
        params: dict[str, Any] = self._node.params
        for fill in sorted(fills, key=self._order):
            value = self._value(fill)
            if not isinstance(value, _Missing) and (fill.path or is_object(value)):
                params = put(params, fill.path, value)
        return params

    def _load(self, fills: Sequence[Fill]) -> None:
        paths = {str(f.source.path[0]) for f in fills if f.source.root in _OF_A_TASK}
        ids = {task_id(self._scope, path, 0): path for path in sorted(paths)}
        for key, task in self._turn.rows(Task, list(ids)).items():
            self._tasks[ids[key]] = task

    def _order(self, fill: Fill) -> int:
        task = self._task(fill.source)
        return 0 if task is None else task.ended_seq

    def _task(self, ref: Ref) -> Task | None:
        return self._tasks[str(ref.path[0])] if ref.root in _OF_A_TASK else None

    def _value(self, fill: Fill) -> Any:
        ref = fill.source
        if ref.root in _OF_A_TASK:
            task = self._task(ref)
            if task is None or task.state is not TaskState.SUCCEEDED:
                return MISSING
            if not Facts(self._turn, task.input, task.output).hold(fill.when):
                return MISSING
            text = task.output if ref.root is Root.RESULTS else task.input
            return find(self._parse(ref.root, str(ref.path[0]), text), ref.path[1:])
        if ref.root is Root.PARAMS:
            # Only what the run was given: a node's own parameters are what is being filled.
            return find(self._parse(ref.root, "", self._turn.run.params), ref.path)
        if ref.root is Root.CONTAINER:
            container = self._turn.task(self._scope)
            return find(self._parse(ref.root, "", container.input), ref.path)
        value = Reader(self._turn, self._scope, self._node.path, None).value(ref)
        return MISSING if value is None else value

    def _parse(self, root: Root, path: str, text: Json | None) -> Any:
        key = root, path
        if key not in self._parsed:
            self._parsed[key] = parse(text)
        return self._parsed[key]


def find(value: Any, path: Sequence[Step]) -> Any:
    """Follow a path down, or `MISSING` where it leads nowhere."""
    for step in path:
        if is_object(value) and str(step) in value:
            value = value[str(step)]
        elif is_list(value) and 0 <= (index := step_index(step)) < len(value):
            value = value[index]
        else:
            return MISSING
    return value


def put(value: Any, path: Sequence[Step], new: Any) -> Any:
    """The value with something else at a path; objects on the way are made where none are.

    A list takes an item it has, or one more at its end. Any other step into a list changes nothing.
    """
    if not path:
        return new
    step, rest = path[0], path[1:]
    if is_list(value):
        index = step_index(step)
        if not 0 <= index <= len(value):
            return value
        old = value[index] if index < len(value) else None
        return [*value[:index], put(old, rest, new), *value[index + 1 :]]
    known = value if is_object(value) else {}
    return {**known, str(step): put(known.get(str(step)), rest, new)}

"""Reading values a definition names: parameters, shared keys, input, and paths into them.

Values stay JSON text as long as a whole value is meant; only a path into one, or a map built from
several, parses.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from windlass.kernel.turn import Turn
from windlass.model.graph import Kind, Ref, Root, Step
from windlass.model.ids import scope_of, task_id
from windlass.model.rows import Json, Task, Variable
from windlass.model.states import TaskState
from windlass.model.values import is_list, is_object, size_of

NULL: Json = "null"
_DIGITS_MAX = 18
"""A longer number is no place in any list, and Python refuses to read some of them."""


def parse(text: Json | None) -> Any:
    return None if text is None else msgspec.json.decode(text)


def encode(value: Any) -> Json:
    return msgspec.json.encode(value).decode()


def as_text(value: Any) -> str:
    """A value in the midst of a text: texts as they are, all else as JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else encode(value)


def walk(value: Any, path: Sequence[Step]) -> Any:
    """Follow a path down; any miss is None. A number in text form also indexes a list."""
    for step in path:
        if is_object(value):
            value = value.get(str(step))
        elif is_list(value):
            index = step_index(step)
            value = value[index] if 0 <= index < len(value) else None
        else:
            return None
    return value


def step_index(step: Step) -> int:
    """The place in a list a step names; -1 if it names none."""
    if isinstance(step, int):
        return step
    return int(step) if len(step) <= _DIGITS_MAX and step.isdecimal() else -1


def effective_params(turn: Turn, path: str) -> dict[str, Any]:
    """The parameters a node sees: at the top the run's win over the node's, below the node's win.

    A branch or sub-node starts from what its container sees and puts its own on top. An item of a
    foreach over a parameter does not get the whole list again beside it: a hundred thousand items
    would each carry a hundred thousand. Where values are filled in, the parameters are the input.
    """
    known: dict[str, Any] | None = turn.view.memo.get(path)
    if known is not None:
        return known
    node = turn.graph.nodes[path]
    parent = node.scope_path
    if node.fills is not None:
        params: dict[str, Any] = {}
    elif parent:
        params = {**effective_params(turn, parent)}
        params.pop(listed_param(turn, parent), None)
        params.update(node.params)
    else:
        params = {**node.params, **parse(turn.run.params)}
    turn.view.memo[path] = params
    return params


def params_text(turn: Turn, path: str) -> Json:
    """The same as JSON text, as a worker gets it."""
    known: Json | None = turn.view.memo.get((path, "text"))
    if known is None:
        known = turn.view.memo[path, "text"] = encode(effective_params(turn, path))
    return known


def listed_param(turn: Turn, container: str) -> str:
    """The parameter a foreach iterates over, if it does that."""
    node = turn.graph.nodes[container]
    ref = node.input
    if node.kind is Kind.FOREACH and isinstance(ref, Ref) and ref.root is Root.PARAMS and ref.path:
        return str(ref.path[0])
    return ""


class Reader:
    """Resolves the references of one node in one scope."""

    def __init__(self, turn: Turn, scope: str, path: str, input_: Json | None) -> None:
        self.turn = turn
        self.scope = scope
        self.path = path
        self.input = input_
        self._parsed: dict[Json, Any] = {}
        """Texts read so far: a choice may look into the same long input in every case."""
        self._sizes: dict[int, tuple[Any, int]] = {}
        """Values measured so far, by identity, which is theirs while they are kept here."""

    def shared(self, key: str) -> Json | None:
        row = self.turn.get(Variable, (self.scope, key))
        return None if row is None else row.value

    def shared_above(self, key: str) -> Json | None:
        """A shared value of this scope or, failing that, of the scopes around it.

        Signals from outside land at the top level; a wait inside a subflow must see them.
        """
        scope = self.scope
        while scope:
            row = self.turn.get(Variable, (scope, key))
            if row is not None:
                return row.value
            scope = scope_of(scope)
        return None

    def text(self, ref: Ref) -> Json:
        """The value a reference names, as JSON text."""
        if ref.root is Root.SHARED and len(ref.path) == 1:
            return self.shared(str(ref.path[0])) or NULL
        if ref.root is Root.INPUT and not ref.path:
            return self.input or NULL
        if ref.root is Root.CONTAINER and not ref.path:
            return self.turn.task(self.scope).input or NULL
        text = encode(self._find(ref))
        # Copying is cheap, but a definition may name the same megabyte a thousand times.
        self.turn.spend(len(text) >> 10)
        return text

    def found(self, ref: Ref) -> Any:
        """The value a reference names, for whoever makes the turn pay for it otherwise."""
        return self._find(ref)

    def value(self, ref: Ref) -> Any:
        """The value a reference names; the turn pays for looking at it."""
        found = self._find(ref)
        self.turn.spend(self._size(found))
        return found

    def _size(self, value: Any) -> int:
        if not (is_list(value) or is_object(value)):
            return size_of(value)
        known = self._sizes.get(id(value))
        if known is None:
            known = self._sizes[id(value)] = value, size_of(value)
        return known[1]

    def _parse(self, text: Json | None) -> Any:
        if text is None:
            return None
        if text not in self._parsed:
            self._parsed[text] = parse(text)
        return self._parsed[text]

    def _find(self, ref: Ref) -> Any:
        match ref.root:
            case Root.LITERAL:
                return ref.literal
            case Root.PARAMS:
                return walk(effective_params(self.turn, self.path), ref.path)
            case Root.INPUT:
                return walk(self._parse(self.input), ref.path)
            case Root.SHARED:
                return walk(self._parse(self.shared(str(ref.path[0]))), ref.path[1:])
            case Root.SHARED_OR_LITERAL:
                found = self.shared(str(ref.path[0])) if ref.path else None
                value = walk(self._parse(found), ref.path[1:])
                return ref.literal if value is None else value
            case Root.RESULTS | Root.PARAMETERS:
                return walk(self._parse(self.sibling_text(ref)), ref.path[1:])
            case Root.CONTAINER:
                return walk(self._parse(self.turn.task(self.scope).input), ref.path)
            case Root.STEP:
                run = self.turn.run
                return run.made if self.scope == run.id else self.turn.task(self.scope).made

    def sibling_text(self, ref: Ref) -> Json | None:
        """What the one task of another node in this scope was given, or gave if it succeeded."""
        task = self.turn.get(Task, task_id(self.scope, str(ref.path[0]), 0))
        if task is None or task.state is not TaskState.SUCCEEDED:
            return None
        return task.output if ref.root is Root.RESULTS else task.input

    def joined(self, parts: Sequence[str | Ref]) -> str:
        """A text made of texts and values; a value that is missing leaves nothing."""
        return "".join(
            part if isinstance(part, str) else as_text(self.value(part)) for part in parts
        )

    def waited(self, ref: Ref) -> Any:
        """A value to wait for: like `value`, but shared keys are sought outwards."""
        if ref.root is not Root.SHARED:
            return self.value(ref)
        return walk(self._parse(self.shared_above(str(ref.path[0]))), ref.path[1:])

    def build(self, rule: Ref | dict[str, Ref] | None) -> Json | None:
        """A node's input from its rule; None when it has no rule."""
        if rule is None:
            return None
        if isinstance(rule, Ref):
            return self.text(rule)
        return encode({key: msgspec.Raw(self.text(ref).encode()) for key, ref in rule.items()})

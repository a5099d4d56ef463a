"""Steps and the arrows between them: `a >> b`, `a.on("rejected") >> c`."""

from collections.abc import Callable
from typing import TypeVar

Connect = Callable[[str, str, str], None]
"""Adds an edge: from, action, to."""


class End:
    """Where a path of a flow stops."""

    def __init__(self, note: str = "") -> None:
        self.note = note


class Step:
    """A node of a flow."""

    def __init__(self, key: str, connect: Connect) -> None:
        self.key = key
        self._connect = connect

    def on(self, *actions: str) -> "Branch":
        """The way out for some actions; `error` and `timeout` are taken on failure."""
        if not actions:
            raise ValueError(f'step "{self.key}": on() needs at least one action')
        return Branch(self, actions)

    def __rshift__(self, target: "TargetT") -> "TargetT":
        return self.on("default") >> target

    def connect(self, action: str, target: object) -> None:
        """Lead an action to a step or an end; anything else would be a path lost without a word."""
        match target:
            case Step():
                self._connect(self.key, action, target.key)
            case End():
                self._connect(self.key, action, "")
            case _:
                reason = f"an arrow leads to a step or an end(), not to {target!r:.60}"
                raise TypeError(f'step "{self.key}": {reason}; write one arrow for each target')

    def __repr__(self) -> str:
        return f"Step({self.key!r})"


TargetT = TypeVar("TargetT", Step, End)


class Branch:
    """The way out of a step for some of its actions."""

    def __init__(self, step: Step, actions: tuple[str, ...]) -> None:
        self._step = step
        self._actions = actions

    def __rshift__(self, target: TargetT) -> TargetT:
        for action in self._actions:
            self._step.connect(action, target)
        return target

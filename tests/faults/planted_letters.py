"""Faults of dead letters: what was given up is not told, or told for ever."""

from typing import Any

from tests.faults.planted import Patch, fault
from windlass.kernel import turn
from windlass.model.dead_letters import DeadLetter
from windlass.model.rows import Row


@fault("nobody is told that a task was given up")
def nobody_is_told(patch: Patch) -> None:
    patch.setattr(turn, "is_given_up", lambda task: False)


@fault("a task that is done again is still said to be given up")
def told_for_ever(patch: Patch) -> None:
    right = turn.Turn.remove

    def remove(self: turn.Turn, table: type[Row], key: Any) -> None:
        if table is not DeadLetter:
            right(self, table, key)

    patch.setattr(turn.Turn, "remove", remove)

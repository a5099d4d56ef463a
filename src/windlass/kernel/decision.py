"""What a turn comes to: the rows to write, and what else follows from them."""

from typing import Any

import msgspec

from windlass.model.envs import EnvSession
from windlass.model.graph import Graph
from windlass.model.rows import Attempt, Row, Run


class Decision(msgspec.Struct):
    """What an event changes: rows made, changed and removed, and the answer to the caller."""

    made: dict[type[Row], dict[Any, Row]] = {}
    changed: dict[type[Row], dict[Any, Row]] = {}
    removed: dict[type[Row], set[Any]] = {}
    answer: Any = None
    graph: Graph | None = None
    """The run's graph from now on, where the event has patched it."""
    settled: list[Attempt | EnvSession | Run] = []
    """Attempts and runs that have ended, and sessions that are gone, which held limits."""
    pushed_back: list[tuple[Attempt, int]] = []
    """Attempts whose service wants to be left alone, and for how many milliseconds."""
    raised: list[tuple[str, int]] = []
    """Budgets nobody is asked about any more, and by how much each was raised."""
    taken: list[Run] = []
    """Runs that go on again, and take their place whether or not there is one."""


NOTHING = Decision()
"""An event that changes nothing."""

"""What a decision may read: rows by key and a few sets of rows. It never reads by itself.

A view holds some rows. Asked for one it has not been given, it raises `Missing`; the engine then
loads everything that is missing in one go and asks the kernel again. Deciding has no effects, so
asking twice costs time and nothing else.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from windlass.model.rows import BranchResult, Json, Row, Task, Variable

R = TypeVar("R", bound=Row)


class Need(NamedTuple):
    """One thing a decision could not do without: a row of a table, or a set of tasks."""

    what: str
    key: Any


class Missing(Exception):
    """The view was not given this; `also` names what will be asked for next, to be read with it."""

    def __init__(self, need: Need, also: Sequence[Need] = ()) -> None:
        super().__init__(need)
        self.need = need
        self.also = also


class Outgrown(Exception):
    """A row is of a node that the graph does not have, or has otherwise: it was read after its run,
    and the graph has changed in between. Read again and ask again."""


class View(Protocol):
    """The rows given to a decision."""

    memo: dict[Any, Any]
    """For what follows from the run's fixed columns and its graph alone, such as its parsed
    parameters; kept as long as the run is in memory."""
    steps: int
    """What deciding the event at hand has cost so far, over all the times it was asked about."""
    written: int
    """The same for the length of long values it would write."""

    def get(self, table: type[R], key: Any) -> R | None:
        """The row, None if there is none, or `Missing` if nobody looked."""
        ...

    def open_tasks(self, scope: str) -> Sequence[Task]:
        """Every task below a scope, at any depth, that has not ended."""
        ...

    def all_tasks(self, run_id: str) -> Sequence[Task]:
        """Every task of a run, in the order they were made."""
        ...

    def waiting_tasks(self, run_id: str, key: str) -> Sequence[Task]:
        """Tasks of a run that wait for a shared key."""
        ...

    def branch_results(self, container: str) -> Sequence[BranchResult]:
        """How the branches of a fan-out ended, by index. Read once, at the join."""
        ...

    def variables(self, scope: str) -> Mapping[str, Variable]:
        """Every shared key of a scope."""
        ...

    def signals(self, run_id: str) -> Sequence[tuple[int, str, Json]]:
        """(seq, key, value) of each signal a run has had, in order."""
        ...

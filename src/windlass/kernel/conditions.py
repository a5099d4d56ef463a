"""Conditions on a node or an edge: what they read of the one task they are about."""

from typing import Any

from windlass.kernel.expressions import holds
from windlass.kernel.turn import Turn
from windlass.kernel.values import parse, walk
from windlass.model.graph import Expr, Ref, Root
from windlass.model.rows import Json
from windlass.model.values import size_of


class Facts:
    """The parameters and results of a task, parsed once and only if a condition asks."""

    def __init__(self, turn: Turn, parameters: Json | None, results: Json | None = None) -> None:
        self._turn = turn
        self._texts = {"parameters": parameters, "results": results}
        self._values: dict[str, Any] = {}

    def hold(self, expr: Expr | None) -> bool:
        """Whether a condition is true of the task; none at all always is."""
        return expr is None or holds(expr, self._read)

    def _read(self, ref: Ref) -> Any:
        if ref.root is Root.LITERAL:
            return ref.literal
        assert ref.root is Root.INPUT, f"a condition of a task cannot read {ref.root}"
        name = str(ref.path[0])
        if name not in self._values:
            self._values[name] = parse(self._texts[name])
        found = walk(self._values[name], ref.path[1:])
        self._turn.spend(size_of(found))
        return found

"""The newest runs of a flow side by side, as the API has them."""

from windlass.protocol.exchange import Wire


class GridTask(Wire, frozen=True, kw_only=True):
    id: str
    node: str
    state: str
    attempts: int
    started_at: int
    finished_at: int | None


class GridRun(Wire, frozen=True, kw_only=True):
    id: str
    state: str
    failures: int
    created_at: int
    finished_at: int | None
    tasks: list[GridTask]
    """The outermost ones, in the order they came about; at most 200."""


class GridView(Wire, frozen=True, kw_only=True):
    runs: list[GridRun]
    """Oldest first."""

"""The end of a run, however it comes about, and what must be let go of outside."""

from typing import Any

from windlass.kernel.placement import let_go, packages_of
from windlass.kernel.turn import Turn
from windlass.model.rows import Binding
from windlass.model.states import RunState


def end_run(turn: Turn, state: RunState, **columns: Any) -> None:
    """End the run; workers that keep something for it hear that it is over."""
    turn.set_run(state=state, finished_at=turn.now, node="", **columns)
    keys = [(turn.run.id, package) for package in packages_of(turn)]
    bound = turn.rows(Binding, keys).values()
    for worker_id in sorted({binding.worker_id for binding in bound if binding is not None}):
        let_go(turn, worker_id)

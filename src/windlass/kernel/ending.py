"""The end of a run, however it comes about, and what must be let go of outside."""

from typing import Any

from windlass.kernel.placement import let_go
from windlass.kernel.turn import Turn
from windlass.model.quotas import QueuedRun, is_queued
from windlass.model.rows import Binding, Run
from windlass.model.states import RUN_ENDED, RunState


def end_run(turn: Turn, state: RunState, **columns: Any) -> None:
    """End the run; workers that keep something for it hear that it is over."""
    run = turn.run
    if run.quota:
        give_place_back(turn, run)
    began_at = None if is_queued(run) else run.started_at or turn.now
    turn.set_run(state=state, started_at=began_at, finished_at=turn.now, node="", **columns)
    if not turn.graph.packages:
        return
    keys = [(turn.run_id, package) for package in turn.graph.packages]
    bound = turn.rows(Binding, keys).values()
    for worker_id in sorted({binding.worker_id for binding in bound if binding is not None}):
        let_go(turn, worker_id)


def give_place_back(turn: Turn, run: Run) -> None:
    """What a run holds by its quota is free; one that has not begun holds nothing, and waits no
    longer."""
    if is_queued(run):
        turn.remove(QueuedRun, run.id)
    elif run.state not in RUN_ENDED:
        turn.settled.append(run)

"""Quotas as the kernel sees them: a run that waits for its place, and gives it back at its end.

Whether there is a place is not decided here. A run under a quota is made without a single task and
queued; the pass that finds a place for it lets it begin, which may be the very pass it came in.
"""

from msgspec.structs import replace

from windlass.kernel.decision import NOTHING, Decision
from windlass.kernel.events import BeginRun, ParkRun
from windlass.kernel.finish import finish
from windlass.kernel.turn import Turn, Visit
from windlass.model.limits import read_held
from windlass.model.quotas import QueuedRun, is_queued, turn_of


def queue(turn: Turn) -> None:
    run = turn.run
    turn.make(
        QueuedRun(
            id=run.id,
            tenant=run.tenant,
            limits=run.quota,
            parked=next(iter(read_held(run.quota))),
            turn=turn_of(run.priority, run.created_at, run.id),
        )
    )


def decide(turn: Turn, event: BeginRun | ParkRun) -> Decision:
    return begin(turn, event) if isinstance(event, BeginRun) else park(turn, event)


def begin(turn: Turn, event: BeginRun) -> Decision:
    if not is_queued(turn.run):
        return NOTHING
    turn.remove(QueuedRun, event.run_id)
    visit_starts(turn)
    turn.set_run(started_at=turn.now)
    return finish(turn, "run.started", None, True)


def visit_starts(turn: Turn) -> None:
    turn.visits += [Visit(turn.run_id, path) for path in turn.graph.starts[""]]


def park(turn: Turn, event: ParkRun) -> Decision:
    row = turn.get(QueuedRun, event.run_id)
    if row is None or not is_queued(turn.run):
        return NOTHING
    turn.change(replace(row, parked=event.limit))
    return finish(turn, "run.parked", None, True, limit=event.limit)


def move_up(turn: Turn) -> None:
    """A queued run has another priority."""
    run = turn.run
    row = turn.get(QueuedRun, run.id) if is_queued(run) else None
    if row is not None:
        turn.change(replace(row, turn=turn_of(run.priority, run.created_at, run.id)))

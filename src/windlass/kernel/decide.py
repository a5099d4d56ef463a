"""The kernel's door: what one event means for one run. Pure; see `turn` for how it is written.

The engine is the only caller. A decision may raise `Missing` (the view lacks a row: load it and
ask again), or one of the model's errors (the caller is refused and nothing changes). An event that
changes nothing answers with an empty decision. What workers say is decided in `reports`, what
people ask for in `requests`.
"""

from typing import assert_never

from windlass.kernel import env_reports, pods, quotas, reports, requests
from windlass.kernel.bounds import Limits
from windlass.kernel.decision import Decision
from windlass.kernel.events import (
    ActionBegan,
    ActionEnded,
    ApprovalGiven,
    ApprovalRevoked,
    AttemptDetached,
    AttemptFailed,
    AttemptStarted,
    AttemptSucceeded,
    BeginRun,
    BoardRebuilt,
    BoardWritten,
    BreakRun,
    BriefAsked,
    CancelRequested,
    CheckpointAnswered,
    Claim,
    EnvAllocated,
    EnvGivenUp,
    EnvRefused,
    EnvReleased,
    EnvReserved,
    EnvSeen,
    HintGiven,
    LeaseExpired,
    NextRequested,
    ParkRun,
    ParkTask,
    PatchGraph,
    PodObserved,
    PriorityChanged,
    QuestionAsked,
    RebindRequested,
    RetryRequested,
    RunEvent,
    SignalReceived,
    StartRun,
    TaskCancelRequested,
    TimerFired,
    WakeTask,
)
from windlass.kernel.finish import finish
from windlass.kernel.turn import Turn
from windlass.kernel.view import View
from windlass.model.graph import Graph
from windlass.model.ids import run_of
from windlass.model.rows import Run


def start(graph: Graph, view: View, event: StartRun, now: int, limits: Limits) -> Decision:
    """Make a run and visit its first node, or have it wait for its place."""
    turn = Turn(graph, view, event.run, now, limits)
    turn.make(event.run)
    if event.run.quota:
        quotas.queue(turn)
        return finish(turn, "run.queued", None, event.run.id)
    quotas.visit_starts(turn)
    return finish(turn, "run.started", None, event.run.id)


def decide(
    graph: Graph, view: View, run: Run, event: RunEvent, now: int, limits: Limits
) -> Decision:
    """What an event changes in the run it concerns."""
    turn = Turn(graph, view, run, now, limits)
    match event:
        # What happens most comes first: each case is tried in turn.
        case Claim():
            return reports.claim(turn, event)
        case AttemptSucceeded():
            return reports.succeeded(turn, event)
        case ParkTask():
            return reports.park(turn, event)
        case WakeTask():
            return reports.wake(turn, event)
        case AttemptStarted():
            return reports.started(turn, event)
        case AttemptFailed():
            return reports.failed(turn, event)
        case AttemptDetached() | PodObserved() | BriefAsked():
            return pods.decide(turn, event)
        case ActionBegan() | ActionEnded():
            return reports.action(turn, event)
        case BoardWritten():
            return reports.board_written(turn, event)
        case NextRequested():
            return reports.next_requested(turn, event)
        case LeaseExpired():
            return reports.lease_expired(turn, event)
        case TimerFired():
            return reports.timer_fired(turn, event)
        case SignalReceived():
            return requests.signal(turn, event)
        case CheckpointAnswered():
            return requests.answer(turn, event)
        case CancelRequested():
            return requests.cancel(turn, event)
        case TaskCancelRequested():
            return requests.cancel_task(turn, event)
        case QuestionAsked():
            return requests.ask(turn, event)
        case HintGiven():
            return requests.hint(turn, event)
        case ApprovalGiven():
            return requests.approve(turn, event)
        case ApprovalRevoked():
            return requests.revoke(turn, event)
        case BoardRebuilt():
            return requests.rebuild_board(turn)
        case PriorityChanged():
            return requests.priority(turn, event)
        case RetryRequested():
            return requests.retry(turn, event)
        case RebindRequested():
            return requests.rebind(turn, event)
        case PatchGraph():
            return requests.patch(turn, event)
        case EnvReserved() | EnvAllocated() | EnvRefused() | EnvSeen() | EnvReleased():
            return env_reports.decide(turn, event)
        case EnvGivenUp():
            return requests.give_env_up(turn, event)
        case BeginRun() | ParkRun():
            return quotas.decide(turn, event)
        case BreakRun():
            return requests.break_run(turn, event)
        case _:
            assert_never(event)


def run_id_of(event: RunEvent | StartRun) -> str:
    """The run an event concerns."""
    match event:
        case AttemptSucceeded():
            return run_of(event.attempt_id)
        case Claim() | ParkTask() | WakeTask() | EnvReserved():
            return run_of(event.task_id)
        case (
            AttemptStarted()
            | AttemptFailed()
            | AttemptDetached()
            | PodObserved()
            | BriefAsked()
            | ActionBegan()
            | ActionEnded()
            | BoardWritten()
            | NextRequested()
            | LeaseExpired()
        ):
            return run_of(event.attempt_id)
        case EnvAllocated() | EnvRefused() | EnvSeen() | EnvReleased() | EnvGivenUp():
            return run_of(event.session_id)
        case StartRun():
            return event.run.id
        case _:
            return event.run_id

"""The kernel's door: what one event means for one run. Pure; see `turn` for how it is written.

The engine is the only caller. A decision may raise `Missing` (the view lacks a row: load it and
ask again), or one of the model's errors (the caller is refused and nothing changes). An event that
changes nothing answers with an empty decision.
"""

from typing import assert_never

import msgspec

from windlass.kernel import (
    asking,
    barriers,
    budgets,
    calls,
    cancel,
    grow,
    late,
    outcomes,
    placement,
    redo,
    reopen,
    steering,
    verifying,
)
from windlass.kernel import limits as limiting
from windlass.kernel.bounds import Limits
from windlass.kernel.claims import claim_task
from windlass.kernel.events import (
    AttemptFailed,
    AttemptStarted,
    AttemptSucceeded,
    BreakRun,
    CancelRequested,
    CheckpointAnswered,
    Claim,
    HintGiven,
    LeaseExpired,
    NextRequested,
    ParkTask,
    PatchGraph,
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
from windlass.kernel.leases import NO_OUTCOME, is_held
from windlass.kernel.nodes import call, fanout, plan, subflow, timer, wait
from windlass.kernel.planning import work
from windlass.kernel.turn import Decision, Turn, Visit
from windlass.kernel.view import View
from windlass.kernel.visits import visit_all
from windlass.model.errors import Conflict, NotFound, StaleLease
from windlass.model.graph import Graph, Kind
from windlass.model.ids import run_of, task_of
from windlass.model.rows import Attempt, Checkpoint, Failure, Json, Run, Task, Timer
from windlass.model.states import (
    ATTEMPT_LIVE,
    RUN_ENDED,
    AttemptState,
    CheckpointState,
    Role,
    TaskState,
)

NOTHING = Decision()


def start(graph: Graph, view: View, event: StartRun, now: int, limits: Limits) -> Decision:
    """Make a run and visit its first node."""
    turn = Turn(graph, view, event.run, now, limits)
    turn.make(event.run)
    turn.visits += [Visit(event.run.id, path) for path in graph.starts[""]]
    return _finish(turn, "run.started", None, event.run.id)


def decide(graph: Graph, view: View, event: RunEvent, now: int, limits: Limits) -> Decision:
    """What an event changes in the run it concerns."""
    run_id = run_id_of(event)
    run = view.get(Run, run_id)
    if run is None:
        raise NotFound(f'no run "{run_id}"')
    turn = Turn(graph, view, run, now, limits)
    match event:
        case Claim():
            return _claim(turn, event)
        case ParkTask():
            return _park(turn, event)
        case WakeTask():
            return _wake(turn, event)
        case AttemptStarted():
            return _started(turn, event)
        case AttemptSucceeded():
            return _succeeded(turn, event)
        case AttemptFailed():
            return _failed(turn, event)
        case NextRequested():
            return _next(turn, event)
        case LeaseExpired():
            return _lease_expired(turn, event)
        case TimerFired():
            return _timer(turn, event)
        case SignalReceived():
            return _signal(turn, event)
        case CheckpointAnswered():
            return _answer(turn, event)
        case CancelRequested():
            return _cancel(turn, event)
        case TaskCancelRequested():
            return _cancel_task(turn, event)
        case QuestionAsked():
            return _ask(turn, event)
        case HintGiven():
            return _hint(turn, event)
        case PriorityChanged():
            return _priority(turn, event)
        case RetryRequested():
            return _retry(turn, event)
        case RebindRequested():
            return _rebind(turn, event)
        case PatchGraph():
            return _patch(turn, event)
        case BreakRun():
            return _break(turn, event)
        case _:
            assert_never(event)


def run_id_of(event: RunEvent | StartRun) -> str:
    """The run an event concerns."""
    match event:
        case StartRun():
            return event.run.id
        case Claim() | ParkTask() | WakeTask():
            return run_of(event.task_id)
        case (
            AttemptStarted()
            | AttemptSucceeded()
            | AttemptFailed()
            | NextRequested()
            | LeaseExpired()
        ):
            return run_of(event.attempt_id)
        case _:
            return event.run_id


def _finish(
    turn: Turn, type_: str, task_id: str | None, answer: object, **data: object
) -> Decision:
    visit_all(turn)
    while turn.replans:
        plan.replan_all(turn)
        visit_all(turn)
    if turn.barriers or turn.barriers_before:
        barriers.keep(turn)
    turn.settle_run()
    decision = turn.decision(type_, task_id, answer, **data)
    if turn.grown:
        decision.graph = turn.graph
    return decision


def _claim(turn: Turn, event: Claim) -> Decision:
    task = turn.get(Task, event.task_id)
    if task is None or not task.claimable:
        return NOTHING
    turn.left = event.left
    assignment = claim_task(turn, task, event)
    return _finish(turn, "attempt.claimed", task.id, assignment)


def _park(turn: Turn, event: ParkTask) -> Decision:
    task = turn.get(Task, event.task_id)
    if task is None or task.state is not TaskState.QUEUED:
        return NOTHING
    limiting.park(turn, task, event.limit, event.question)
    return _finish(turn, "task.parked", task.id, True, limit=event.limit)


def _wake(turn: Turn, event: WakeTask) -> Decision:
    task = turn.get(Task, event.task_id)
    if task is None or task.parked is None:
        return NOTHING
    limiting.wake(turn, task)
    return _finish(turn, "task.woken", task.id, True)


def _live(turn: Turn, attempt_id: str) -> tuple[Task, Attempt]:
    """An attempt that still holds its task, or `StaleLease`."""
    attempt = turn.get(Attempt, attempt_id)
    if attempt is None:
        raise NotFound(f'no attempt "{attempt_id}"')
    if attempt.state not in ATTEMPT_LIVE:
        raise StaleLease(f"attempt {attempt_id} has already ended as {attempt.state}")
    task = turn.task(task_of(attempt_id))
    if task.attempts != attempt.number or not is_held(task):
        raise StaleLease(f"attempt {attempt_id} no longer holds its task")
    return task, attempt


def _reported(turn: Turn, attempt_id: str, output: Json | None = None) -> tuple[Task, Attempt]:
    """An attempt whose outcome counts: it holds its task, or has lost it and nobody took it."""
    attempt = turn.get(Attempt, attempt_id)
    again = None if attempt is None else late.claim_again(turn, attempt, output)
    return again or _live(turn, attempt_id)


def _started(turn: Turn, event: AttemptStarted) -> Decision:
    task, attempt = _live(turn, event.attempt_id)
    if attempt.state is AttemptState.RUNNING:
        return NOTHING
    turn.move_attempt(attempt, state=AttemptState.RUNNING, started_at=turn.now)
    return _finish(turn, "attempt.started", task.id, None)


def _succeeded(turn: Turn, event: AttemptSucceeded) -> Decision:
    attempt = turn.get(Attempt, event.attempt_id)
    if attempt is not None and attempt.state not in ATTEMPT_LIVE:
        refused = attempt.output is not None and attempt.output == event.output
        if refused or attempt.state is AttemptState.SUCCEEDED:
            return Decision(answer="duplicate")
    task, attempt = _reported(turn, event.attempt_id, event.output)
    turn.usage = (attempt.id, event.usage) if event.usage else None
    if attempt.role is Role.VERIFY:
        judged = verifying.judge(turn, task, attempt, event.output, event.log)
        return _finish(turn, f"verdict.{'given' if judged else 'failed'}", task.id, "accepted")
    if attempt.role is Role.PLAN:
        taken = plan.planned(turn, task, attempt, event.output, event.log)
        return _finish(turn, f"plan.{'accepted' if taken else 'refused'}", task.id, "accepted")
    if turn.node(task).planned is not None and not event.skipped:
        taken = work.accept(turn, task, attempt, event.output, event.log, event.metadata)
        return _finish(turn, f"attempt.{'succeeded' if taken else 'failed'}", task.id, "accepted")
    taken = call.accept(
        turn,
        task,
        attempt,
        event.output,
        event.log,
        skipped=event.skipped,
        metadata=event.metadata,
    )
    # A result that was refused is dealt with as well: sending it again would change nothing.
    return _finish(turn, f"attempt.{'succeeded' if taken else 'failed'}", task.id, "accepted")


def _failed(turn: Turn, event: AttemptFailed) -> Decision:
    attempt = turn.get(Attempt, event.attempt_id)
    if attempt is not None and attempt.error == event.failure.json():
        return Decision(answer="duplicate")
    if event.failure.kind in NO_OUTCOME:
        task, attempt = _live(turn, event.attempt_id)
    else:
        task, attempt = _reported(turn, event.attempt_id)
    turn.usage = (attempt.id, event.usage) if event.usage else None
    outcomes.ended_without_result(turn, task, attempt, event.failure, event.log)
    return _finish(turn, "attempt.failed", task.id, "accepted")


def _next(turn: Turn, event: NextRequested) -> Decision:
    task, attempt = _live(turn, event.attempt_id)
    node = turn.node(task)
    if event.target not in ("", node.next):
        raise Conflict(f"node {node.path} cannot call for {event.target}")
    called = calls.find_called(turn, task, attempt, event.request_id)
    if called is not None:
        return Decision(answer=calls.as_called(called))
    called = calls.call_next(turn, task, attempt, event.request_id, event.payload)
    visit_all(turn)
    answer = calls.as_called(turn.task(called.id))
    return _finish(turn, "task.called", called.id, answer, by=task.id)


def _lease_expired(turn: Turn, event: LeaseExpired) -> Decision:
    attempt = turn.get(Attempt, event.attempt_id)
    if attempt is None or attempt.state not in ATTEMPT_LIVE:
        return NOTHING
    if max(event.lease_until, attempt.lease_until) > turn.now:
        return NOTHING
    task = turn.task(attempt.task_id)
    text = f"worker {attempt.worker_id} did not renew its lease"
    outcomes.ended_without_result(turn, task, attempt, Failure("lost", text))
    return _finish(turn, "attempt.lost", task.id, None)


def _timer(turn: Turn, event: TimerFired) -> Decision:
    row = turn.get(Timer, event.timer_id)
    if row is None or row.due_at > turn.now:
        return NOTHING
    turn.remove(Timer, row.id)
    if row.kind == "cancel":
        cancel.cancel_forced(turn)
    else:
        _task_timer(turn, turn.task(row.task_id), row.kind)
    return _finish(turn, f"timer.{row.kind}", row.task_id, None)


def _task_timer(turn: Turn, task: Task, kind: str) -> None:
    match kind, task.kind:
        case "delay", _:
            timer.due(turn, task)
        case "retry", _:
            call.retry_due(turn, task)
        case "expand", _:
            fanout.expand(turn, task)
        case "unpin", _:
            call.unpin(turn, task)
        case "timeout", Kind.CALL if task.state is TaskState.WAITING:
            work.expired(turn, task)
        case "timeout", Kind.CALL:
            outcomes.timed_out(turn, task)
        case "timeout", Kind.SUBFLOW:
            subflow.timed_out(turn, task)
        case "timeout", _:
            wait.timed_out(turn, task)
        case _:
            raise AssertionError(f"timer {kind} on a {task.kind} task")


def _signal(turn: Turn, event: SignalReceived) -> Decision:
    run = turn.run
    if run.state in RUN_ENDED:
        raise Conflict(f"run {run.id} is {run.state}; a signal cannot reach it any more")
    turn.set_variable(run.id, event.key, event.value)
    for waiting in turn.view.waiting_tasks(run.id, event.key):
        task = turn.task(waiting.id)
        if task.state is TaskState.WAITING and task.kind != Kind.CALL:
            if task.scope != run.id:
                turn.set_variable(task.scope, event.key, event.value)
            wait.signalled(turn, task)
    return _finish(turn, "signal.received", None, None, key=event.key, value=_raw(event.value))


def _raw(value: str) -> object:
    return msgspec.Raw(value.encode())


def _answer(turn: Turn, event: CheckpointAnswered) -> Decision:
    checkpoint = turn.get(Checkpoint, event.checkpoint_id)
    if checkpoint is None:
        raise NotFound(f'no checkpoint "{event.checkpoint_id}"')
    if checkpoint.state is not CheckpointState.OPEN:
        who = f" by {checkpoint.answered_by}" if checkpoint.answered_by else ""
        raise Conflict(f"checkpoint {checkpoint.id} is already {checkpoint.state}{who}")
    task = turn.task(checkpoint.task_id)
    if task.kind == Kind.CALL:
        answered = {
            asking.VERDICT: verifying.answered,
            asking.FAILURE: work.answered_failure,
            asking.QUESTION: work.answered,
            budgets.KIND: budgets.answered,
        }[checkpoint.kind]
        answered(turn, task, checkpoint, event.answer, event.by, event.note)
    else:
        wait.answered(turn, task, event.answer, event.by, event.note)
    return _finish(turn, "checkpoint.answered", task.id, None, by=event.by)


def _cancel(turn: Turn, event: CancelRequested) -> Decision:
    run = turn.run
    if run.state in RUN_ENDED:
        raise Conflict(f"run {run.id} is already {run.state}; there is nothing to cancel")
    if turn.cancelling:
        return NOTHING
    cancel.cancel_run(turn)
    return _finish(turn, "run.cancel_requested", None, None, reason=event.reason)


def _cancel_task(turn: Turn, event: TaskCancelRequested) -> Decision:
    task = steering.cancel_task(turn, event.task_id)
    return _finish(turn, "task.cancel_requested", task.id, task.id, reason=event.reason)


def _ask(turn: Turn, event: QuestionAsked) -> Decision:
    asked = steering.ask(turn, event.task_id, event.request, event.name, event.by)
    return _finish(turn, "checkpoint.asked", event.task_id, asked, by=event.by)


def _hint(turn: Turn, event: HintGiven) -> Decision:
    told = steering.hint(turn, event.hint)
    given = {"kind": event.hint.kind, "summary": event.hint.summary, "about": event.hint.task_id}
    return _finish(turn, "hint.given", told.id, told.id, by=event.by, **given)


def _priority(turn: Turn, event: PriorityChanged) -> Decision:
    run = turn.run
    if run.state in RUN_ENDED:
        raise Conflict(f"run {run.id} is already {run.state}; nothing of it waits")
    if run.priority == event.priority:
        return Decision()
    turn.set_run(priority=event.priority)
    for task in turn.open_tasks(run.id):
        # A task may have a priority of its own, beside its run's.
        more = event.priority - run.priority
        turn.move(task, task.state, priority=task.priority + more)
    return _finish(turn, "run.priority_changed", None, None, priority=event.priority)


def _retry(turn: Turn, event: RetryRequested) -> Decision:
    if turn.graph.joins:
        task = reopen.reopen(turn, event.task_id, event.descendants)
    else:
        task = redo.redo(turn, event.task_id, event.descendants, event.also)
    return _finish(turn, "task.retry_requested", task.id, task.id, descendants=event.descendants)


def _rebind(turn: Turn, event: RebindRequested) -> Decision:
    run = turn.run
    if run.state in RUN_ENDED:
        raise Conflict(f"run {run.id} is already {run.state}; nothing of it waits for a worker")
    left_alone = placement.rebind(turn, event.worker_id, event.lost)
    for task_id in left_alone if event.gone else ():
        task = turn.task(task_id)
        # Whoever fails first may take the others along.
        if task.state is TaskState.QUEUED:
            call.fail_without_worker(turn, task, event.lost or "")
    return _finish(turn, "run.rebound", None, None, worker=event.worker_id, lost=event.lost)


def _patch(turn: Turn, event: PatchGraph) -> Decision:
    revision = grow.already(turn, event.patch, event.revision)
    if revision is not None:
        return Decision(answer=revision)
    revision = grow.patch_graph(turn, event.patch)
    patch = event.patch
    return _finish(
        turn,
        "graph.patched",
        None,
        revision,
        revision=revision,
        reason=patch.reason,
        author=patch.author,
        added=[node.path for node in patch.nodes],
        dropped=patch.drop,
    )


def _break(turn: Turn, event: BreakRun) -> Decision:
    if turn.run.state in RUN_ENDED:
        return Decision(answer=event.answer)
    cancel.break_run(turn, event.failure)
    return _finish(turn, "run.broken", None, event.answer)

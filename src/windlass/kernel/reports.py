"""What workers say, and what time does: each handler decides one event of an attempt or a task."""

from windlass.kernel import (
    blackboard,
    calls,
    cancel,
    envs,
    late,
    ledger,
    outcomes,
    verifying,
)
from windlass.kernel import limits as limiting
from windlass.kernel.claims import claim_task
from windlass.kernel.decision import NOTHING, Decision
from windlass.kernel.events import (
    ActionBegan,
    ActionEnded,
    AttemptFailed,
    AttemptStarted,
    AttemptSucceeded,
    BoardWritten,
    Claim,
    LeaseExpired,
    NextRequested,
    ParkTask,
    TimerFired,
    WakeTask,
)
from windlass.kernel.finish import finish
from windlass.kernel.leases import NO_OUTCOME, is_held
from windlass.kernel.nodes import call, fanout, plan, subflow, timer, wait
from windlass.kernel.planning import work
from windlass.kernel.turn import Turn
from windlass.kernel.visits import visit_all
from windlass.model.errors import Conflict, NotFound, StaleLease
from windlass.model.graph import Kind
from windlass.model.rows import Attempt, Failure, Json, Task, Timer
from windlass.model.states import ATTEMPT_LIVE, AttemptState, Role, TaskState


def claim(turn: Turn, event: Claim) -> Decision:
    task = turn.get(Task, event.task_id)
    if task is None or not task.claimable or lacks_place(turn, task):
        return NOTHING
    turn.left = event.left
    assignment = claim_task(turn, task, event)
    return finish(turn, "attempt.claimed", task.id, assignment)


def lacks_place(turn: Turn, task: Task) -> bool:
    """Whether a task has lost its place since somebody chose it to be handed out."""
    return task.state is TaskState.QUEUED and not task.env and bool(turn.node(task).env)


def park(turn: Turn, event: ParkTask) -> Decision:
    task = turn.get(Task, event.task_id)
    if task is None or task.state is not TaskState.QUEUED:
        return NOTHING
    limiting.park(turn, task, event.limit, event.question)
    return finish(turn, "task.parked", task.id, True, limit=event.limit)


def wake(turn: Turn, event: WakeTask) -> Decision:
    task = turn.get(Task, event.task_id)
    if task is None or task.parked is None:
        return NOTHING
    limiting.wake(turn, task)
    return finish(turn, "task.woken", task.id, True)


def known(turn: Turn, attempt_id: str) -> Attempt:
    attempt = turn.get(Attempt, attempt_id)
    if attempt is None:
        raise NotFound(f'no attempt "{attempt_id}"')
    return attempt


def live(turn: Turn, attempt_id: str) -> tuple[Task, Attempt]:
    """An attempt that still holds its task, or `StaleLease`."""
    attempt = known(turn, attempt_id)
    return held_by(turn, attempt), attempt


def held_by(turn: Turn, attempt: Attempt) -> Task:
    """The task an attempt still holds, or `StaleLease`."""
    if attempt.state not in ATTEMPT_LIVE:
        raise StaleLease(f"attempt {attempt.id} has already ended as {attempt.state}")
    task = turn.task(attempt.task_id)
    if task.attempts != attempt.number or not is_held(task):
        raise StaleLease(f"attempt {attempt.id} no longer holds its task")
    return task


def reported(turn: Turn, attempt: Attempt, output: Json | None = None) -> tuple[Task, Attempt]:
    """An attempt whose outcome counts: it holds its task, or has lost it and nobody took it."""
    again = late.claim_again(turn, attempt, output)
    return again or (held_by(turn, attempt), attempt)


def started(turn: Turn, event: AttemptStarted) -> Decision:
    task, attempt = live(turn, event.attempt_id)
    if attempt.state is AttemptState.RUNNING:
        return NOTHING
    turn.move_attempt(attempt, state=AttemptState.RUNNING, started_at=turn.now)
    return finish(turn, "attempt.started", task.id, None)


def succeeded(turn: Turn, event: AttemptSucceeded) -> Decision:
    attempt = known(turn, event.attempt_id)
    if attempt.state not in ATTEMPT_LIVE:
        refused = attempt.output is not None and attempt.output == event.output
        if refused or attempt.state is AttemptState.SUCCEEDED:
            return Decision(answer="duplicate")
    task, attempt = reported(turn, attempt, event.output)
    turn.usage = (attempt.id, event.usage) if event.usage else None
    if attempt.role is Role.VERIFY:
        judged = verifying.judge(turn, task, attempt, event.output, event.log)
        return finish(turn, f"verdict.{'given' if judged else 'failed'}", task.id, "accepted")
    if attempt.role is Role.PLAN:
        taken = plan.planned(turn, task, attempt, event.output, event.log)
        return finish(turn, f"plan.{'accepted' if taken else 'refused'}", task.id, "accepted")
    if turn.node(task).planned is not None and not event.skipped:
        taken = work.accept(turn, task, attempt, event.output, event.log, event.metadata)
        return finish(turn, f"attempt.{'succeeded' if taken else 'failed'}", task.id, "accepted")
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
    return finish(turn, f"attempt.{'succeeded' if taken else 'failed'}", task.id, "accepted")


def failed(turn: Turn, event: AttemptFailed) -> Decision:
    attempt = known(turn, event.attempt_id)
    if attempt.error == event.failure.json():
        return Decision(answer="duplicate")
    if event.failure.kind in NO_OUTCOME:
        task = held_by(turn, attempt)
    else:
        task, attempt = reported(turn, attempt)
    turn.usage = (attempt.id, event.usage) if event.usage else None
    outcomes.ended_without_result(turn, task, attempt, event.failure, event.log)
    return finish(turn, "attempt.failed", task.id, "accepted")


def next_requested(turn: Turn, event: NextRequested) -> Decision:
    task, attempt = live(turn, event.attempt_id)
    node = turn.node(task)
    if event.target not in ("", node.next):
        raise Conflict(f"node {node.path} cannot call for {event.target}")
    called = calls.find_called(turn, task, attempt, event.request_id)
    if called is not None:
        return Decision(answer=calls.as_called(called))
    called = calls.call_next(turn, task, attempt, event.request_id, event.payload)
    visit_all(turn)
    answer = calls.as_called(turn.task(called.id))
    return finish(turn, "task.called", called.id, answer, by=task.id)


def lease_expired(turn: Turn, event: LeaseExpired) -> Decision:
    attempt = turn.get(Attempt, event.attempt_id)
    if attempt is None or attempt.state not in ATTEMPT_LIVE:
        return NOTHING
    if attempt.external_ref or max(event.lease_until, attempt.lease_until) > turn.now:
        return NOTHING
    task = turn.task(attempt.task_id)
    text = f"worker {attempt.worker_id} did not renew its lease"
    outcomes.ended_without_result(turn, task, attempt, Failure("lost", text))
    return finish(turn, "attempt.lost", task.id, None)


def timer_fired(turn: Turn, event: TimerFired) -> Decision:
    row = turn.get(Timer, event.timer_id)
    if row is None or row.due_at > turn.now:
        return NOTHING
    turn.remove(Timer, row.id)
    if row.kind == "cancel":
        cancel.cancel_forced(turn)
    else:
        task_timer(turn, turn.task(row.task_id), row.kind)
    return finish(turn, f"timer.{row.kind}", row.task_id, None)


def task_timer(turn: Turn, task: Task, kind: str) -> None:
    match kind, task.kind:
        case "delay", _:
            timer.due(turn, task)
        case "retry", _:
            call.retry_due(turn, task)
        case "expand", _:
            fanout.expand(turn, task)
        case "unpin", _:
            call.unpin(turn, task)
        case envs.TIMER, _:
            envs.expired(turn, task)
        case "timeout", Kind.CALL if task.state is TaskState.WAITING:
            work.expired(turn, task)
        case "timeout", Kind.CALL | Kind.PLAN:
            outcomes.timed_out(turn, task)
        case "timeout", Kind.SUBFLOW:
            subflow.timed_out(turn, task)
        case "timeout", _:
            wait.timed_out(turn, task)
        case _:
            raise AssertionError(f"timer {kind} on a {task.kind} task")


def action(turn: Turn, event: ActionBegan | ActionEnded) -> Decision:
    return (
        action_began(turn, event) if isinstance(event, ActionBegan) else action_ended(turn, event)
    )


def action_began(turn: Turn, event: ActionBegan) -> Decision:
    task, attempt = live(turn, event.attempt_id)
    action = ledger.begin(turn, task, attempt, event.call)
    if action is None:
        return Decision(answer="duplicate")
    return finish(turn, "action.began", task.id, "accepted")


def action_ended(turn: Turn, event: ActionEnded) -> Decision:
    action = ledger.end(turn, event.attempt_id, event.outcome)
    if action is None:
        return Decision(answer="duplicate")
    return finish(turn, "action.ended", action.task_id, "accepted")


def board_written(turn: Turn, event: BoardWritten) -> Decision:
    task, attempt = live(turn, event.attempt_id)
    entry, news = blackboard.write(turn, task, attempt, event.key, event.payload, event.expected)
    if not news:
        return Decision(answer=entry.revision)
    return finish(turn, "board.written", task.id, entry.revision, key=event.key)

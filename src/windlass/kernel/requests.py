"""What people and programs ask of a run: each handler decides one event of theirs."""

import msgspec

from windlass.kernel import (
    asking,
    blackboard,
    budgets,
    envs,
    grow,
    ledger,
    placement,
    quotas,
    redo,
    reopen,
    steering,
    verifying,
)
from windlass.kernel import cancel as cancelling
from windlass.kernel.decision import NOTHING, Decision
from windlass.kernel.events import (
    ApprovalGiven,
    ApprovalRevoked,
    BreakRun,
    CancelRequested,
    CheckpointAnswered,
    EnvGivenUp,
    HintGiven,
    PatchGraph,
    PriorityChanged,
    QuestionAsked,
    RebindRequested,
    RetryRequested,
    SignalReceived,
    TaskCancelRequested,
)
from windlass.kernel.finish import finish
from windlass.kernel.leases import is_held
from windlass.kernel.nodes import call, wait
from windlass.kernel.planning import work
from windlass.kernel.turn import Turn
from windlass.model.envs import EnvSession
from windlass.model.errors import Conflict, NotFound
from windlass.model.graph import Kind
from windlass.model.rows import Checkpoint, Task
from windlass.model.states import RUN_ENDED, CheckpointState, TaskState


def signal(turn: Turn, event: SignalReceived) -> Decision:
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
    return finish(turn, "signal.received", None, None, key=event.key, value=raw(event.value))


def raw(value: str) -> object:
    return msgspec.Raw(value.encode())


def answer(turn: Turn, event: CheckpointAnswered) -> Decision:
    checkpoint = turn.get(Checkpoint, event.checkpoint_id)
    if checkpoint is None:
        raise NotFound(f'no checkpoint "{event.checkpoint_id}"')
    if checkpoint.state is not CheckpointState.OPEN:
        who = f" by {checkpoint.answered_by}" if checkpoint.answered_by else ""
        raise Conflict(f"checkpoint {checkpoint.id} is already {checkpoint.state}{who}")
    task = turn.task(checkpoint.task_id)
    given, note = ledger.hand_over(turn, task, event.answer, event.note)
    if task.kind == Kind.CALL:
        answered = {
            asking.VERDICT: verifying.answered,
            asking.FAILURE: work.answered_failure,
            asking.QUESTION: work.answered,
            budgets.KIND: budgets.answered,
        }[checkpoint.kind]
        answered(turn, task, checkpoint, given, event.by, note)
    else:
        wait.answered(turn, task, given, event.by, note)
    return finish(turn, "checkpoint.answered", task.id, None, by=event.by)


def cancel(turn: Turn, event: CancelRequested) -> Decision:
    run = turn.run
    if run.state in RUN_ENDED:
        raise Conflict(f"run {run.id} is already {run.state}; there is nothing to cancel")
    if turn.cancelling:
        return NOTHING
    cancelling.cancel_run(turn)
    return finish(turn, "run.cancel_requested", None, None, reason=event.reason)


def cancel_task(turn: Turn, event: TaskCancelRequested) -> Decision:
    task = steering.cancel_task(turn, event.task_id)
    return finish(turn, "task.cancel_requested", task.id, task.id, reason=event.reason)


def ask(turn: Turn, event: QuestionAsked) -> Decision:
    asked = steering.ask(turn, event.task_id, event.request, event.name, event.by)
    return finish(turn, "checkpoint.asked", event.task_id, asked, by=event.by)


def hint(turn: Turn, event: HintGiven) -> Decision:
    told = steering.hint(turn, event.hint)
    given = {"kind": event.hint.kind, "summary": event.hint.summary, "about": event.hint.task_id}
    return finish(turn, "hint.given", told.id, told.id, by=event.by, **given)


def priority(turn: Turn, event: PriorityChanged) -> Decision:
    run = turn.run
    if run.state in RUN_ENDED:
        raise Conflict(f"run {run.id} is already {run.state}; nothing of it waits")
    if run.priority == event.priority:
        return Decision()
    turn.set_run(priority=event.priority)
    quotas.move_up(turn)
    for task in turn.open_tasks(run.id):
        # A task may have a priority of its own, beside its run's.
        more = event.priority - run.priority
        turn.move(task, task.state, priority=task.priority + more)
    return finish(turn, "run.priority_changed", None, None, priority=event.priority)


def retry(turn: Turn, event: RetryRequested) -> Decision:
    if turn.graph.counts_edges:
        task = reopen.reopen(turn, event.task_id, event.descendants)
    else:
        task = redo.redo(turn, event.task_id, event.descendants, event.also)
    return finish(turn, "task.retry_requested", task.id, task.id, descendants=event.descendants)


def rebind(turn: Turn, event: RebindRequested) -> Decision:
    run = turn.run
    if run.state in RUN_ENDED:
        raise Conflict(f"run {run.id} is already {run.state}; nothing of it waits for a worker")
    left_alone = placement.rebind(turn, event.worker_id, event.lost)
    for task_id in left_alone if event.gone else ():
        task = turn.task(task_id)
        # Whoever fails first may take the others along.
        if task.state is TaskState.QUEUED:
            call.fail_without_worker(turn, task, event.lost or "")
    return finish(turn, "run.rebound", None, None, worker=event.worker_id, lost=event.lost)


def patch(turn: Turn, event: PatchGraph) -> Decision:
    revision = grow.already(turn, event.patch, event.revision)
    if revision is not None:
        return Decision(answer=revision)
    revision = grow.patch_graph(turn, event.patch)
    patch = event.patch
    return finish(
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


def give_env_up(turn: Turn, event: EnvGivenUp) -> Decision:
    session = turn.get(EnvSession, event.session_id)
    if session is None:
        raise NotFound(f'no session "{event.session_id:.200}"')
    task = turn.get(Task, session.task_id)
    if task is not None and task.env == session.id and is_held(task):
        text = f"attempt {session.attempt_id} works in it; cancel its task or its run instead"
        raise Conflict(f"session {session.id} cannot be given back: {text}")
    if not envs.given_up(turn, session, event.reason):
        return NOTHING
    return finish(turn, "env.given_up", session.task_id, None, env=session.id)


def break_run(turn: Turn, event: BreakRun) -> Decision:
    if turn.run.state in RUN_ENDED:
        return Decision(answer=event.answer)
    cancelling.break_run(turn, event.failure)
    return finish(turn, "run.broken", None, event.answer)


def approve(turn: Turn, event: ApprovalGiven) -> Decision:
    approval = ledger.approve(turn, event)
    data = {"approval": approval.id, "attempt": approval.attempt_id, "effect": approval.effect}
    return finish(turn, "approval.given", event.task_id, approval, by=event.by, **data)


def revoke(turn: Turn, event: ApprovalRevoked) -> Decision:
    approval = ledger.revoke(turn, event.approval_id)
    if approval is None:
        return NOTHING
    return finish(turn, "approval.revoked", approval.task_id, None, approval=approval.id)


def rebuild_board(turn: Turn) -> Decision:
    goals, results = blackboard.rebuild(turn)
    answer = (goals, results)
    return finish(turn, "board.rebuilt", None, answer, goals=goals, results=results)

"""What attempts do outside, written down before and after; and who allowed what cannot be undone.

An action begins only under a lease that holds, so whoever has lost its task begins nothing more. An
approval is for one attempt, and counts for the one action in whose commit it is consumed.
"""

from typing import Any

from msgspec.structs import replace

from windlass.kernel.events import ApprovalGiven
from windlass.kernel.leases import is_held
from windlass.kernel.turn import Turn
from windlass.model.errors import Conflict, Denied, NotFound
from windlass.model.graph import Kind
from windlass.model.ids import attempt_id
from windlass.model.ledger import (
    Action,
    ActionCall,
    ActionOutcome,
    ActionState,
    Approval,
    ApprovalState,
    EffectClass,
    approval_named,
    handed_named,
    opens,
    reference,
    retold,
)
from windlass.model.rows import Attempt, Task
from windlass.model.states import RUN_ENDED, TASK_ENDED, Role, RunState, TaskState


def action_id(attempt: str, call_id: str) -> str:
    return f"{attempt}!{call_id}"


def begin(turn: Turn, task: Task, attempt: Attempt, call: ActionCall) -> Action | None:
    """Write down what an attempt is about to do; None if that was said before."""
    earlier = turn.get(Action, action_id(attempt.id, call.call_id))
    if earlier is not None:
        said = (earlier.tool, earlier.effect, earlier.input)
        if said != (call.tool, call.effect, call.input):
            raise Conflict(f'"{call.call_id}" is another action of {attempt.id} already')
        return None
    if attempt.cancel_at is not None:
        raise Conflict(f"attempt {attempt.id} was asked to stop; it begins nothing more")
    action = Action(
        id=action_id(attempt.id, call.call_id),
        run_id=task.run_id,
        task_id=task.id,
        attempt_id=attempt.id,
        call_id=call.call_id,
        tool=call.tool,
        effect=call.effect,
        summary=call.summary,
        input=call.input,
        seq=turn.seq,
        started_at=turn.now,
    )
    if call.effect is EffectClass.IRREVERSIBLE:
        action = replace(action, approval_id=use_approval(turn, attempt, action, call.token).id)
    turn.make(action)
    turn.note(action=action.id, state="running", tool=action.tool, effect=str(action.effect))
    return action


def use_approval(turn: Turn, attempt: Attempt, action: Action, token: str) -> Approval:
    """Consume the approval an action needs; whatever is wrong with it, the answer tells nobody
    whether there is such a token."""
    if attempt.role is Role.VERIFY:
        raise Denied("whoever judges a result does nothing that cannot be undone")
    if not token:
        raise Denied(
            f'"{action.tool}" cannot be undone and needs an approval of this attempt:'
            f" windlass action approve {turn.run_id} {action.task_id}"
        )
    named = approval_named(token) or handed_named(token)
    approval = turn.get(Approval, named) if named else None
    if approval is None or not is_shown(approval, token) or approval.attempt_id != attempt.id:
        raise Denied(f"the token is no approval for attempt {attempt.id}")
    if approval.state is not ApprovalState.ACTIVE:
        raise Denied(f"the approval was {approval.state}; it counts once")
    if approval.expires_at <= turn.now:
        raise Denied("the approval has expired")
    used = replace(approval, state=ApprovalState.CONSUMED, used_by=action.id, used_at=turn.now)
    turn.change(used)
    turn.note(approval=approval.id, state="consumed")
    return used


def is_shown(approval: Approval, token: str) -> bool:
    """Whether a token is the approval's, or a reference to one whose token the run was shown."""
    if handed_named(token):
        return bool(approval.handed)
    return opens(approval, token)


def hand_over(turn: Turn, task: Task, answer: Any, note: str) -> tuple[Any, str]:
    """What a person answered, with references in place of tokens: an approval whose token they show
    to a task goes to its next attempt, and the token is written nowhere."""

    def taken(token: str) -> str:
        approval = turn.get(Approval, approval_named(token))
        if approval is None or approval.task_id != task.id or not opens(approval, token):
            return "[no approval of this task]"
        if not approval.handed:
            turn.change(replace(approval, handed=1))
        return reference(approval.id)

    return retold(answer, taken), retold(note, taken)


def end(turn: Turn, attempt: str, outcome: ActionOutcome) -> Action | None:
    """Write down how an action went; None if that was said before."""
    action = turn.get(Action, action_id(attempt, outcome.call_id))
    if action is None:
        raise NotFound(f'attempt {attempt} has begun no action "{outcome.call_id}"')
    if action.state is not ActionState.RUNNING:
        if action.state is outcome.state:
            return None
        raise Conflict(f"action {action.id} is already {action.state}")
    ended = replace(
        action,
        state=outcome.state,
        output=outcome.output,
        error=outcome.error,
        summary=outcome.summary or action.summary,
        finished_at=turn.now,
    )
    turn.change(ended)
    turn.note(action=action.id, state=str(outcome.state))
    return ended


# Approvals


def approve(turn: Turn, event: ApprovalGiven) -> Approval:
    run = turn.run
    if run.state in RUN_ENDED or run.state is RunState.CANCELLING:
        raise Conflict(f"run {run.id} is {run.state}; nothing of it is done any more")
    task = turn.get(Task, event.task_id)
    if task is None:
        raise NotFound(f'run {run.id} has no task "{event.task_id}" that has begun')
    if task.kind != Kind.CALL or task.state in TASK_ENDED or task.state is TaskState.PENDING:
        raise Conflict(f"task {task.id} is {task.state}; no attempt of it could use an approval")
    if task.state is TaskState.VERIFYING:
        raise Conflict(f"task {task.id} is being verified; whoever does that may not use it")
    number = task.attempts if is_held(task) else task.attempts + 1
    approval = Approval(
        id=event.approval_id,
        run_id=run.id,
        task_id=task.id,
        attempt_id=attempt_id(task.id, number),
        effect=event.effect,
        token_hash=event.token_hash,
        reason=event.reason,
        approved_by=event.by,
        created_at=turn.now,
        expires_at=turn.now + event.expires_in_ms,
    )
    turn.make(approval)
    return approval


def revoke(turn: Turn, approval_id: str) -> Approval | None:
    """Take an approval back; None if it was taken back before."""
    approval = turn.get(Approval, approval_id)
    if approval is None or approval.run_id != turn.run_id:
        raise NotFound(f'run {turn.run_id} has no approval "{approval_id:.80}"')
    if approval.state is ApprovalState.CONSUMED:
        raise Conflict(f"approval {approval.id} was used for {approval.used_by} already")
    if approval.state is ApprovalState.REVOKED:
        return None
    revoked = replace(approval, state=ApprovalState.REVOKED)
    turn.change(revoked)
    return revoked

"""Results of a plan's tasks: an answer is taken, or is a failure, or leads to a question."""

from typing import Any

import msgspec
from msgspec.structs import replace

from windlass.kernel import verifying
from windlass.kernel.asking import ask_for_attempt, close_question, read_choice, read_reply
from windlass.kernel.checkpoints import checkpoint_of, count_barrier
from windlass.kernel.nodes import call
from windlass.kernel.requeue import requeue
from windlass.kernel.routing import close, fail, go_on_without, succeed
from windlass.kernel.scopes import drop_holds
from windlass.kernel.turn import Turn
from windlass.kernel.values import encode, parse
from windlass.model.notes import AttemptNotes
from windlass.model.questions import read_question
from windlass.model.rows import Attempt, Checkpoint, Failure, Json, Task, read_failure
from windlass.model.states import AttemptState, CheckpointState, TaskState
from windlass.model.work_answers import WorkAnswer, read_answer


def accept(
    turn: Turn,
    task: Task,
    attempt: Attempt,
    output: Json,
    log: str | None,
    metadata: dict[str, Any] | None,
) -> bool:
    """Take what an attempt answered; false if it comes down to a failure of the attempt."""
    answer = read_answer(parse(output))
    if isinstance(answer, str):
        refused = Failure("failed", answer, code="invalid_result")
        call.attempt_failed(turn, task, replace(attempt, output=output), refused, log)
        return False
    if answer.status == "failed":
        failed(turn, task, replace(attempt, output=answer.json()), answer, log)
        return False
    flaw = ask_for_attempt(turn, task, answer.checkpoint) if answer.checkpoint is not None else ""
    if flaw:
        refused = Failure("failed", flaw, code="invalid_result")
        call.attempt_failed(turn, task, replace(attempt, output=output), refused, log)
        return False
    kept, notes = answer.json(), AttemptNotes(metadata=metadata)
    turn.move_attempt(
        attempt, state=AttemptState.SUCCEEDED, output=kept, log=log, notes=notes.json()
    )
    node = turn.node(task)
    if node.timeout_ms and answer.checkpoint is None:
        turn.drop_timer(task.id, "timeout")
    if answer.checkpoint is not None:
        # It waits for a person now, and goes on with another attempt.
        if turn.cancelling:
            drop_holds(turn, turn.task(task.id))
            close(turn, turn.move(turn.task(task.id), TaskState.CANCELLED))
    elif node.verification is not None:
        verifying.submit(turn, task, node.verification, attempt)
    else:
        verifying.want_replan(turn, task, answer)
        succeed(turn, task, kept, "")
    return True


def failed(turn: Turn, task: Task, attempt: Attempt, answer: WorkAnswer, log: str | None) -> None:
    """The attempt says that it failed: it is tried again, or its plan is made anew."""
    text = answer.terminal_reason or answer.summary or "the worker says that it failed"
    failure = Failure("failed", text, code=answer.failure_class)
    if answer.request_replan and not turn.cancelling:
        verifying.want_replan(turn, task, answer)
        failure = msgspec.structs.replace(failure, kind="fatal")
    call.attempt_failed(turn, task, attempt, failure, log)


# What people answer


def answered(turn: Turn, task: Task, asked: Checkpoint, answer: Any, by: str, note: str) -> None:
    """A person answers what an attempt asked: the next attempt is told."""
    reply = read_reply(asked, answer)
    go_on(turn, close_question(turn, task, asked, encode(reply), by, note), asked)


def go_on(turn: Turn, task: Task, asked: Checkpoint) -> None:
    turn.drop_timer(task.id, "timeout")
    if read_question(asked.details).judging:
        verifying.wait_for_verdict(turn, task)
    else:
        requeue(turn, task, 0, {"due_at": None})


def expired(turn: Turn, task: Task) -> None:
    """Nobody answered in time: what was agreed for that case counts as the answer."""
    asked = checkpoint_of(turn, task)
    assert asked is not None
    default = read_question(asked.details).default_action
    turn.change(
        replace(
            asked,
            state=CheckpointState.EXPIRED,
            answered_at=turn.now,
            answer=encode(default),
            answered_by="timeout",
        )
    )
    count_barrier(turn, asked, -1)
    turn.note(checkpoint=asked.id, state=str(CheckpointState.EXPIRED))
    go_on(turn, turn.move(task, task.state, wait_key=None), asked)


def answered_failure(
    turn: Turn, task: Task, asked: Checkpoint, answer: Any, by: str, note: str
) -> None:
    """A person decides about a failed task: again, without it, or not at all."""
    choice = read_choice(asked, answer)
    task = close_question(turn, task, asked, encode(choice), by, note)
    failure = read_failure(task.error) or Failure("failed", "unknown")
    if choice == "retry":
        requeue(turn, task, 0, {"failures": 0, "moves": 0})
    elif choice == "continue":
        go_on_without(turn, task)
    else:
        fail(turn, task, failure, decided=True)

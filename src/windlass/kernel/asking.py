"""Asking a person about a task that is under way, rather than at a node of its own.

The task waits, holding nothing, until somebody answers. Its checkpoint is named after the attempt
that came to the question, so each may ask once, and the answers are found again.
"""

from typing import Any

import msgspec
from msgspec.structs import replace

from windlass.kernel.checkpoints import asked_id, count_barrier, from_outside_id
from windlass.kernel.turn import Turn
from windlass.model.errors import BadRequest
from windlass.model.questions import (
    Option,
    Question,
    Reply,
    Request,
    read_question,
    read_request,
)
from windlass.model.rows import Checkpoint, Failure, Json, Task
from windlass.model.states import CheckpointState, TaskState
from windlass.model.values import is_object
from windlass.model.verdicts import Verdict

VERDICT = "verdict"
"""A question about a claim: accept it, have the work done again, or let the task fail."""
FAILURE = "failure"
"""A question about a task that failed: do it again, go on without it, or fail."""
QUESTION = "question"
"""What an attempt asks to be able to go on."""
_ABOUT_CLAIM = (
    Option("accept", "Accept the result"),
    Option("retry", "Have it done again"),
    Option("fail", "Let the task fail"),
)
_ABOUT_FAILURE = (
    Option("retry", "Do it again"),
    Option("continue", "Go on without it"),
    Option("fail", "Let the plan fail"),
)
_YES = frozenset({"true", "approved", "yes"})
_NO = frozenset({"false", "rejected", "no"})


def about_claim(turn: Turn, task: Task, verdict: Verdict, claim: Json | None, queue: str) -> None:
    """Leave a verdict to a person, with the claim before them."""
    given = (verdict.checkpoint or {}).get("question")
    told = f": {verdict.summary}" if verdict.summary else ""
    prompt = given if isinstance(given, str) and given else f"Accept this result?{told}"
    question = Question(_ABOUT_CLAIM, reason_code=verdict.failure_class)
    _open(turn, task, VERDICT, prompt, claim, question)
    wait(turn, task, queue=queue)


def about_failure(turn: Turn, task: Task, failure: Failure) -> None:
    """Leave to a person what a failure means."""
    prompt = f"{task.node} failed: {failure.message}"
    _open(turn, task, FAILURE, prompt[:4_000], task.input, Question(_ABOUT_FAILURE))
    wait(turn, task, error=failure.json())


def ask_for_attempt(turn: Turn, task: Task, request: dict[str, Any]) -> str:
    """Open what an attempt asks; returns what is wrong with the question instead."""
    read = read_request(request)
    if isinstance(read, str):
        return read
    _put(turn, task, asked_id(task.id, task.attempts), read)
    return ""


def ask_from_outside(
    turn: Turn, task: Task, request: Request, name: str, *, judging: bool, by: str
) -> Checkpoint:
    """Open what somebody asks about a task that holds nothing; a claim of it waits meanwhile."""
    details = replace(request.details, judging=judging, asked_by=by)
    asked = replace(request, details=details)
    return _put(turn, task, from_outside_id(task.id, name), asked)


def _put(turn: Turn, task: Task, checkpoint_id: str, request: Request) -> Checkpoint:
    due_at = turn.now + request.timeout_ms if request.timeout_ms else None
    details = request.details
    asked = _open(turn, task, QUESTION, request.question, None, details, due_at, checkpoint_id)
    wait(turn, task, wait_key=checkpoint_id, due_at=due_at)
    if due_at is not None:
        turn.set_timer(task.id, "timeout", due_at)
    elif turn.node(task).timeout_ms:
        turn.drop_timer(task.id, "timeout")
    return asked


def wait(turn: Turn, task: Task, **columns: Any) -> None:
    """Let a task wait for the checkpoint that was opened for it."""
    asked = asked_id(task.id, task.attempts)
    own = {"wait_key": asked, "due_at": None, "parked": None, **columns}
    turn.move(task, TaskState.WAITING, **own)


def _open(
    turn: Turn,
    task: Task,
    kind: str,
    prompt: str,
    show: Json | None,
    question: Question,
    due_at: int | None = None,
    checkpoint_id: str = "",
) -> Checkpoint:
    asked = Checkpoint(
        id=checkpoint_id or asked_id(task.id, task.attempts),
        run_id=task.run_id,
        task_id=task.id,
        flow_name=turn.run.flow_name,
        node=task.node,
        kind=kind,
        prompt=prompt,
        show=show,
        created_at=turn.now,
        expires_at=due_at,
        tenant=turn.tenant,
        details=question.json(),
    )
    turn.make(asked)
    count_barrier(turn, asked, 1)
    turn.note(checkpoint=asked.id, state=str(asked.state))
    return asked


# Answers


def read_choice(asked: Checkpoint, answer: Any) -> str:
    """The option an answer names; yes and no stand for the first and the last."""
    ids = [option.id for option in read_question(asked.details).options]
    word = answer.get("option_id") if is_object(answer) else answer
    text = str(word).lower()
    choice = ids[0] if text in _YES else ids[-1] if text in _NO else text
    if choice not in ids:
        raise BadRequest(f"answer {', '.join(ids)}, or yes or no")
    return choice


def read_reply(asked: Checkpoint, answer: Any) -> Reply:
    """An answer to an attempt's question: an option, or words where they are asked for."""
    question = read_question(asked.details)
    if is_object(answer) and "mode" in answer:
        try:
            reply = msgspec.convert(answer, Reply)
        except msgspec.ValidationError as error:
            raise BadRequest(f"not an answer: {error}") from None
    elif any(option.id == answer for option in question.options):
        reply = Reply("select_option", option_id=str(answer))
    else:
        text = answer if isinstance(answer, str) else msgspec.json.encode(answer).decode()
        reply = Reply("freeform", freeform_input=text)
    return _checked(question, reply)


def _checked(question: Question, reply: Reply) -> Reply:
    if reply.mode == "use_default":
        if question.default_action is None:
            raise BadRequest("this question has no default to use; choose an option")
        return msgspec.convert(question.default_action, Reply)
    options = {option.id: option for option in question.options}
    if reply.mode == "select_option":
        option = options.get(reply.option_id)
        if option is None:
            raise BadRequest(f"choose one of {', '.join(options) or 'none: write an answer'}")
        if option.kind == "choice" and reply.freeform_input:
            raise BadRequest(f'"{option.id}" takes no words of your own')
        return reply
    free = not options or any(option.kind == "freeform" for option in options.values())
    if reply.mode != "freeform" or not free:
        raise BadRequest(f"choose one of {', '.join(options)}")
    if not reply.freeform_input.strip():
        raise BadRequest("an answer in your own words is needed: freeform_input")
    return reply


def close_question(
    turn: Turn, task: Task, checkpoint: Checkpoint, answer: Json, by: str, note: str
) -> Task:
    """Keep what a person answered; the task waits for nothing any more."""
    closed = replace(
        checkpoint,
        state=CheckpointState.RESOLVED,
        answered_at=turn.now,
        answer=answer,
        answered_by=by,
        note=note,
    )
    turn.change(closed)
    count_barrier(turn, closed, -1)
    turn.note(checkpoint=closed.id, state=str(closed.state))
    return turn.move(task, task.state, wait_key=None)

"""What a run writes on its blackboard as it goes, and what its attempts write there."""

from typing import Any

from windlass.kernel.planning.settings import PlanSettings, settings_of
from windlass.kernel.turn import Turn
from windlass.kernel.values import encode
from windlass.model.blackboard import (
    PAYLOAD_MAX,
    BoardEntry,
    Writer,
    check_key,
    check_writer,
    past_of,
    run_key,
    task_key,
)
from windlass.model.errors import BadRequest, Conflict
from windlass.model.graph import Kind
from windlass.model.rows import Attempt, Json, Task, read_failure
from windlass.model.states import Role, TaskState
from windlass.model.verdicts import Verdict
from windlass.model.work_answers import kept_answer

_WRITERS = {Role.WORK: Writer.WORKER, Role.PLAN: Writer.WORKER, Role.VERIFY: Writer.VERIFIER}
_SAID = (TaskState.SUCCEEDED, TaskState.FAILED)


def write(
    turn: Turn,
    task: Task,
    attempt: Attempt,
    key: str,
    payload: Json | None,
    expected: int | None,
) -> tuple[BoardEntry, bool]:
    """An attempt writes, or takes away, what is its to write. `expected` is the revision it has
    seen, 0 for none. Tells whether that is news."""
    check_key(key)
    if payload is not None and len(payload) > PAYLOAD_MAX:
        raise BadRequest(f"a value has at most {PAYLOAD_MAX:,} characters; keep it as a resource")
    writer = _WRITERS[attempt.role]
    check_writer(key, task.run_id, task.id, writer, swaps=expected is not None)
    there = turn.get(BoardEntry, key)
    found = 0 if there is None or there.deleted else there.revision
    if there is not None and expected is not None and is_said(there, attempt, payload):
        return there, False
    if expected is not None and expected != found:
        raise Conflict(f'"{key}" is at revision {found}, not at {expected}: read it again')
    if there is not None and there.epoch > attempt.number and there.attempt_id != attempt.id:
        raise Conflict(f'"{key}" was written by a later attempt: {there.attempt_id}')
    entry = BoardEntry(
        key=key,
        run_id=task.run_id,
        revision=turn.seq,
        writer=writer,
        writer_id=attempt.worker_id,
        attempt_id=attempt.id,
        epoch=attempt.number,
        deleted=int(payload is None),
        payload="null" if payload is None else payload,
        at=turn.now,
    )
    put(turn, entry, there)
    return entry, True


def is_said(there: BoardEntry, attempt: Attempt, payload: Json | None) -> bool:
    """Whether this very attempt has written just that: it has not heard the answer."""
    same = bool(there.deleted) if payload is None else there.payload == payload
    return same and there.attempt_id == attempt.id


def put(turn: Turn, entry: BoardEntry, there: BoardEntry | None) -> None:
    if there is None:
        turn.make(entry)
        return
    if there.revision != entry.revision:
        turn.make(past_of(there))
    turn.change(entry)


def say(turn: Turn, key: str, value: Any, attempt_id: str = "", epoch: int = 0) -> None:
    """The run itself writes: whatever it says stands."""
    payload = encode(value)
    if len(payload) > PAYLOAD_MAX:
        payload = encode({"cut": payload[:1_000], "characters": len(payload)})
    entry = BoardEntry(
        key=key,
        run_id=turn.run_id,
        revision=turn.seq,
        writer=Writer.ORCHESTRATOR,
        attempt_id=attempt_id,
        epoch=epoch,
        payload=payload,
        at=turn.now,
    )
    put(turn, entry, turn.get(BoardEntry, key))


# What the run says


def say_goal(turn: Turn, task: Task, settings: PlanSettings) -> None:
    """What everybody of a plan should know."""
    told = {"run_id": turn.run_id, "goal": settings.goal, "input": settings.input}
    say(turn, goal_key(turn, task), told)


def goal_key(turn: Turn, task: Task) -> str:
    """Where a plan's goal stands: with the run if the run is nothing else, and with the plan's own
    task where it is one node of several."""
    alone = task.scope == task.run_id and turn.graph.starts[""] == (task.node,)
    if alone and not turn.graph.edges.get(task.node):
        return run_key(task.run_id, "context.goal")
    return task_key(task.id, "context.goal")


def say_result(turn: Turn, task: Task) -> None:
    """How a task of a plan has ended."""
    succeeded = task.state is TaskState.SUCCEEDED
    answer = kept_answer(task.output if succeeded else None)
    failure = read_failure(task.error)
    told = {
        "task_id": task.id,
        "run_id": task.run_id,
        "claim_epoch": task.attempts,
        "status": "completed" if succeeded else str(task.state),
        "summary": answer.summary or (failure.message if failure is not None else ""),
        "failure_class": "" if failure is None or succeeded else failure.code or failure.kind,
        "request_replan": answer.request_replan,
        "structured_output": answer.structured_output,
    }
    say(turn, result_key(task.id), told, epoch=task.attempts)
    if answer.artifacts:
        say(turn, task_key(task.id, "artifacts.list"), answer.artifacts, epoch=task.attempts)


def result_key(task_id: str) -> str:
    return task_key(task_id, "result.summary")


def say_verdict(turn: Turn, task: Task, verdict: Verdict, attempt: Attempt) -> None:
    """What a verifier had against a claim."""
    told = {"verdict": str(verdict.verdict), "summary": verdict.summary, "claim": task.claim}
    say(turn, task_key(task.id, "verifier.verdict"), told, attempt.id, attempt.number)


def rebuild(turn: Turn) -> tuple[int, int]:
    """Say everything anew, after it was lost: how many goals, and how many results."""
    goals = results = 0
    for task in turn.view.all_tasks(turn.run_id):
        if task.kind == Kind.PLAN and task.input:
            say_goal(turn, task, settings_of(task.input))
            goals += 1
        elif task.kind == Kind.CALL and turn.node(task).planned and task.state in _SAID:
            say_result(turn, task)
            results += 1
    return goals, results


# What a brief tells of it


def captured(turn: Turn, task: Task, predecessors: list[str]) -> list[dict[str, Any]]:
    """The revisions of what an attempt is given: the goal, and what its predecessors came to."""
    keys = [goal_key(turn, turn.task(task.scope)), *(result_key(each) for each in predecessors)]
    return revisions(turn, keys)


def captured_goal(turn: Turn, task: Task) -> list[dict[str, Any]]:
    return revisions(turn, [goal_key(turn, task)])


def revisions(turn: Turn, keys: list[str]) -> list[dict[str, Any]]:
    found = turn.rows(BoardEntry, keys)
    return [
        {"key": key, "revision": entry.revision}
        for key, entry in found.items()
        if entry is not None and not entry.deleted
    ]

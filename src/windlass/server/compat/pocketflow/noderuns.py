"""Node runs: one line per attempt, and one per visit of a node that needs no attempt."""

from typing import Any

import msgspec

from windlass.engine.engine import Engine
from windlass.model.ids import as_written
from windlass.model.queues import service_of, transport_of
from windlass.model.rows import Attempt, Run, Task, Version, read_failure
from windlass.model.states import ATTEMPT_LIVE, TASK_ENDED, AttemptState, TaskState
from windlass.ports.store import Cond
from windlass.server.compat.pocketflow.definitions import (
    Json,
    branch_service,
    node_at,
    prep_json,
    script_command,
)
from windlass.server.compat.pocketflow.names import seconds

_ROWS_MAX = 10_000
_ATTEMPT_STATUS = {
    AttemptState.CLAIMED: "running",
    AttemptState.RUNNING: "running",
    AttemptState.SUCCEEDED: "ok",
}
_TASK_STATUS = {
    TaskState.SUCCEEDED: "ok",
    TaskState.CANCELLED: "canceled",
    TaskState.SUPERSEDED: "canceled",
    TaskState.QUEUED: "queued",
}
_LAST = float("inf")
"""What a node says of itself comes after what happened inside it in the same moment."""
_SUB_STATUS = {"parallel": "branch_complete", "foreach": "item_complete"}


async def node_runs(engine: Engine, run: Run) -> list[dict[str, Any]]:
    """All lines of a run in the order things happened."""
    below = [Cond("id", ">", f"{run.id}~"), Cond("id", "<", f"{run.id}\x7f")]
    tasks = await engine.store.page(Task, below, limit=_ROWS_MAX)
    attempts: dict[str, list[Attempt]] = {}
    for row in await engine.store.page(Attempt, below, limit=_ROWS_MAX):
        attempts.setdefault(row.task_id, []).append(row)
    kinds = {task.id: task.kind for task in tasks}
    async with engine.store.session() as session:
        versions = await session.rows(Version, [run.version_id])
    definition: object = msgspec.json.decode(versions[0].source) if versions else {}
    by_id = {task.id: task for task in tasks}
    lines: list[tuple[int, tuple[float, ...], dict[str, Any]]] = []
    for task in tasks:
        order = steps_to(task, by_id)
        node = node_at(definition, task.node)
        place = where(task, kinds, node)
        for attempt in attempts.get(task.id, ()):
            line = attempt_line(task, attempt, place) | executor(task, attempt, node)
            lines.append((attempt.claimed_at, (*order, attempt.number), line))
        if task.kind == "call" and (task.state is TaskState.QUEUED or _never_begun(task)):
            lines.append((task.ready_at or 0, (*order, _LAST), task_line(task, place)))
        elif task.kind not in ("call", "subflow") and task.state in TASK_ENDED:
            lines.append((task.finished_at or 0, (*order, _LAST), task_line(task, place)))
    return [line for _, _, line in sorted(lines, key=lambda item: item[:2])]


def _never_begun(task: Task) -> bool:
    """Whether a call was cancelled while it stood in a queue."""
    return task.state is TaskState.CANCELLED and not task.attempts and task.ready_at is not None


def steps_to(task: Task, by_id: dict[str, Task]) -> tuple[float, ...]:
    """Where a task stands among those of the same moment: step by step from the top."""
    around = by_id.get(task.scope)
    above = () if around is None else steps_to(around, by_id)
    return (*above, task.step, task.idx)


def where(task: Task, kinds: dict[str, str], node: Json) -> dict[str, str]:
    """Which node a line belongs to, which branch or sub-node of it, and what it read."""
    parent, _, key = task.node.rpartition("/")
    around = kinds.get(task.scope, "")
    if not parent:
        place = {"node_key": as_written(task.node), "sub_status": "", "branch_id": ""}
        return {**place, "prep_json": prep_json(node, task.kind)}
    branch: str | int | None = task.idx if task.idx >= 0 else None
    if around == "parallel":
        branch = branch_service(node, task.idx)
    sub = as_written(key) if around == "subflow" else ""
    return {
        "node_key": as_written(parent),
        "sub_status": _SUB_STATUS.get(around, "sub_node_complete"),
        "branch_id": as_written(key) if branch is None else str(branch),
        "prep_json": prep_json(node, task.kind, branch=branch, sub=sub),
    }


def attempt_line(task: Task, attempt: Attempt, place: dict[str, str]) -> dict[str, Any]:
    failure = read_failure(attempt.error)
    accepted = attempt.state is AttemptState.SUCCEEDED and attempt.number == task.attempts
    newest = attempt.number == task.attempts
    cancelled = attempt.state is AttemptState.CANCELLED or (
        # However its worker took it, it ended because somebody asked for that.
        newest and task.state is TaskState.CANCELLED and attempt.state not in ATTEMPT_LIVE
    )
    action = task.action if accepted else ""
    return {
        "id": f"run-{attempt.id}",
        "task_id": f"task-{task.run_id}",
        **place,
        "attempt_no": attempt.number,
        "status": "canceled" if cancelled else _ATTEMPT_STATUS.get(attempt.state, "error"),
        "exec_input_json": task.input or "null",
        "exec_output_json": (task.output or "{}") if accepted else "{}",
        "error_text": failure.message if failure is not None else "",
        "action": "canceled" if cancelled else action,
        "started_at": seconds(attempt.claimed_at),
        "finished_at": seconds(attempt.finished_at),
        "log_path": log_path(task, attempt),
    }


def log_path(task: Task, attempt: Attempt) -> str:
    """What a log that is kept goes by: a name, which clients look at before they ask for the log,
    and no file of ours."""
    if attempt.log is None:
        return ""
    return f"logs/tasks/task-{task.run_id}/{task.node}_{attempt.number}.log"


def task_line(task: Task, place: dict[str, str]) -> dict[str, Any]:
    failure = read_failure(task.error)
    error = failure.message if failure is not None else ""
    if failure is not None and failure.kind == "timeout":
        error = "timeout"
    cancelled = task.state is TaskState.CANCELLED
    return {
        "id": f"run-{task.id}",
        "task_id": f"task-{task.run_id}",
        **place,
        "attempt_no": 0 if cancelled else task.attempts + 1,
        "status": _TASK_STATUS.get(task.state, "error"),
        "exec_input_json": task.input or "null",
        "exec_output_json": task.output or "{}",
        "error_text": error,
        "action": "canceled" if cancelled else task.action,
        "started_at": seconds(task.started_at or task.created_at),
        "finished_at": seconds(task.finished_at),
        "worker_id": "queue" if task.state is TaskState.QUEUED else "",
        "worker_url": "queue" if task.state is TaskState.QUEUED else "",
        "log_path": "",
    }


def executor(task: Task, attempt: Attempt, node: Json) -> dict[str, str]:
    """Who executed an attempt: a worker, or this server by one of its own means."""
    transport, service = transport_of(attempt.queue), service_of(attempt.queue)
    if transport == "local":
        return {"worker_id": f"local-func:{service}", "worker_url": "local"}
    if transport == "script":
        command = script_command(node, task.idx)
        return {"worker_id": f"local-script:{command}", "worker_url": "local"}
    return {"worker_id": attempt.worker_id, "worker_url": attempt.worker_url}

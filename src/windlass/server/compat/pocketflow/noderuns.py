"""Node runs: one line per attempt, and one per visit of a node that needs no attempt."""

from typing import Any

from windlass.engine.engine import Engine
from windlass.model.rows import Attempt, Run, Task, read_failure
from windlass.model.states import TASK_ENDED, AttemptState, TaskState
from windlass.ports.store import Cond
from windlass.server.compat.pocketflow.names import seconds

_ROWS_MAX = 10_000
_ATTEMPT_STATUS = {
    AttemptState.CLAIMED: "running",
    AttemptState.RUNNING: "running",
    AttemptState.SUCCEEDED: "ok",
    AttemptState.CANCELLED: "canceled",
}
_TASK_STATUS = {
    TaskState.SUCCEEDED: "ok",
    TaskState.CANCELLED: "canceled",
    TaskState.SUPERSEDED: "canceled",
    TaskState.QUEUED: "queued",
}
_SUB_STATUS = {"parallel": "branch_complete", "foreach": "item_complete"}


async def node_runs(engine: Engine, run: Run) -> list[dict[str, Any]]:
    """All lines of a run in the order things happened."""
    below = [Cond("id", ">", f"{run.id}~"), Cond("id", "<", f"{run.id}\x7f")]
    tasks = await engine.store.page(Task, below, limit=_ROWS_MAX)
    attempts: dict[str, list[Attempt]] = {}
    for row in await engine.store.page(Attempt, below, limit=_ROWS_MAX):
        attempts.setdefault(row.task_id, []).append(row)
    kinds = {task.id: task.kind for task in tasks}
    lines: list[tuple[int, int, dict[str, Any]]] = []
    for task in sorted(tasks, key=lambda row: (row.made_seq, row.step, row.idx)):
        place = where(task, kinds)
        for attempt in sorted(attempts.get(task.id, ()), key=lambda row: row.number):
            lines.append((attempt.claimed_at, len(lines), attempt_line(task, attempt, place)))
        if task.kind == "call" and task.state is TaskState.QUEUED:
            lines.append((task.ready_at or 0, len(lines), task_line(task, place)))
        elif task.kind not in ("call", "subflow") and task.state in TASK_ENDED:
            lines.append((task.finished_at or 0, len(lines), task_line(task, place)))
    return [line for _, _, line in sorted(lines, key=lambda item: item[:2])]


def where(task: Task, kinds: dict[str, str]) -> dict[str, str]:
    """Which node a line belongs to, and which branch or sub-node of it."""
    parent, _, key = task.node.rpartition("/")
    if not parent:
        return {"node_key": task.node, "sub_status": "", "branch_id": ""}
    sub_status = _SUB_STATUS.get(kinds.get(task.scope, ""), "sub_node_complete")
    branch = str(task.idx) if task.idx >= 0 else key
    return {"node_key": parent, "sub_status": sub_status, "branch_id": branch}


def attempt_line(task: Task, attempt: Attempt, place: dict[str, str]) -> dict[str, Any]:
    failure = read_failure(attempt.error)
    accepted = attempt.state is AttemptState.SUCCEEDED and attempt.number == task.attempts
    return {
        "id": f"run-{attempt.id}",
        "task_id": f"task-{task.run_id}",
        **place,
        "attempt_no": attempt.number,
        "status": _ATTEMPT_STATUS.get(attempt.state, "error"),
        "prep_json": prep(task),
        "exec_input_json": task.input or "null",
        "exec_output_json": (task.output or "{}") if accepted else "{}",
        "error_text": failure.message if failure is not None else "",
        "action": task.action if accepted else "",
        "started_at": seconds(attempt.claimed_at),
        "finished_at": seconds(attempt.finished_at),
        "worker_id": attempt.worker_id,
        "worker_url": attempt.worker_url,
        "log_path": "",
    }


def task_line(task: Task, place: dict[str, str]) -> dict[str, Any]:
    failure = read_failure(task.error)
    return {
        "id": f"run-{task.id}",
        "task_id": f"task-{task.run_id}",
        **place,
        "attempt_no": task.attempts + 1,
        "status": _TASK_STATUS.get(task.state, "error"),
        "prep_json": prep(task),
        "exec_input_json": task.input or "null",
        "exec_output_json": task.output or "{}",
        "error_text": failure.message if failure is not None else "",
        "action": task.action,
        "started_at": seconds(task.started_at or task.created_at),
        "finished_at": seconds(task.finished_at),
        "worker_id": "queue" if task.state is TaskState.QUEUED else "",
        "worker_url": "queue" if task.state is TaskState.QUEUED else "",
        "log_path": "",
    }


def prep(task: Task) -> str:
    return f'{{"branch":{task.idx}}}' if task.idx >= 0 else "{}"

"""Operations on plans: what to ask and what the answer is, as in `calls`."""

from collections.abc import Mapping

from windlass.client.paths import API, listing, path_part, post, run_path, task_path
from windlass.client.requests import ApiCall, Ignored, encode
from windlass.client.shapes import BoardEntry, CheckpointInfo, Page, RunInfo


def start_plan(
    goal: str,
    *,
    plan: object = None,
    input: object = None,  # noqa: A002  the wire's name
    planner: str = "",
    worker: str = "",
    profiles: object = None,
    key: str = "",
    tags: Mapping[str, str] | None = None,
    priority: int = 0,
    budget: Mapping[str, object] | None = None,
    project: str = "",
) -> ApiCall[RunInfo]:
    """Start a run for a goal: with a plan to begin with, or by asking its planner for one."""
    given = {
        "plan": plan,
        "input": input,
        "plannerProfile": planner or None,
        "workerProfile": worker or None,
        "profiles": profiles,
        "tags": dict(tags) if tags else None,
        "priority": priority or None,
        "budget": budget or None,
        "project": project or None,
    }
    body: dict[str, object] = {"dialect": "plan", "goal": goal}
    body |= {name: value for name, value in given.items() if value is not None}
    headers = {"Idempotency-Key": key} if key else {}
    return ApiCall("POST", f"{API}/runs", RunInfo, body=encode(body), headers=headers)


def blackboard(
    run_id: str, prefix: str = "", *, limit: int = 50, cursor: str | int = ""
) -> ApiCall[Page[BoardEntry]]:
    """What stands on a run's blackboard, by key."""
    query = listing(limit, cursor, prefix=prefix)
    return ApiCall("GET", f"{run_path(run_id)}/blackboard", Page[BoardEntry], query)


def board_entry(run_id: str, key: str, revision: int = 0) -> ApiCall[BoardEntry]:
    """One key as it stands, or as it stood at a revision."""
    query: dict[str, str | int] = {"revision": revision} if revision else {}
    path = f"{run_path(run_id)}/blackboard/{path_part(key)}"
    return ApiCall("GET", path, BoardEntry, query)


def board_revisions(run_id: str, key: str) -> ApiCall[Page[BoardEntry]]:
    """A key now and before, the newest first."""
    path = f"{run_path(run_id)}/blackboard/{path_part(key)}/revisions"
    return ApiCall("GET", path, Page[BoardEntry])


def hint(
    run_id: str,
    kind: str,
    summary: str = "",
    *,
    details: Mapping[str, object] | None = None,
    task: str = "",
) -> ApiCall[Ignored]:
    """Tell the run's plan something (`context_update`, `constraint_update`), or have it made anew
    (`replan_request`)."""
    body = {"kind": kind, "summary": summary, "details": dict(details or {}), "task": task}
    return post(f"{run_path(run_id)}/hints", Ignored, body)


def cancel_task(run_id: str, task: str, reason: str = "") -> ApiCall[Ignored]:
    """Do without a task of a plan, by its alias or id; what depends on it is skipped."""
    return post(f"{task_path(run_id, task)}/cancel", Ignored, {"reason": reason} if reason else {})


def ask(
    run_id: str,
    task: str,
    question: str,
    *,
    options: Mapping[str, str] | None = None,
    blocks_run: bool = False,
) -> ApiCall[CheckpointInfo]:
    """Have a person asked before a task of a plan goes on: to choose, or to write an answer."""
    chosen = [{"id": key, "label": label} for key, label in (options or {}).items()]
    body = {"question": question, "options": chosen, "blocksRun": blocks_run}
    return post(f"{task_path(run_id, task)}/checkpoints", CheckpointInfo, body)

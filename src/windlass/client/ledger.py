"""Operations on a run's ledger: what to ask and what the answer is, as in `calls`."""

from urllib.parse import quote

from windlass.client.paths import listing, run_path, task_path
from windlass.client.requests import ApiCall, Ignored, encode
from windlass.client.shapes import ActionInfo, Approval, ApprovalInfo, Page


def actions(
    run_id: str,
    *,
    task: str = "",
    attempt: str = "",
    tool: str = "",
    effect: str = "",
    state: str = "",
    limit: int = 50,
    cursor: str | int = "",
) -> ApiCall[Page[ActionInfo]]:
    """What the attempts of a run did outside, in order; `state="unknown"` is what may have
    happened."""
    query = listing(
        limit, cursor, task=task, attempt=attempt, tool=tool, effect=effect, state=state
    )
    return ApiCall("GET", f"{run_path(run_id)}/actions", Page[ActionInfo], query)


def approvals(
    run_id: str, *, task: str = "", limit: int = 50, cursor: str | int = ""
) -> ApiCall[Page[ApprovalInfo]]:
    """What was allowed in a run, the newest first; never with a token."""
    query = listing(limit, cursor, task=task)
    return ApiCall("GET", f"{run_path(run_id)}/approvals", Page[ApprovalInfo], query)


def approve(
    run_id: str, task: str, reason: str, *, expires_in_s: float = 600, key: str = ""
) -> ApiCall[Approval]:
    """Allow the attempt a task has, or has next, one thing that cannot be undone."""
    body = {"reason": reason, "expiresInS": expires_in_s}
    headers = {"Idempotency-Key": key} if key else {}
    path = f"{task_path(run_id, task)}/approvals"
    return ApiCall("POST", path, Approval, body=encode(body), headers=headers)


def revoke(run_id: str, approval_id: str) -> ApiCall[Ignored]:
    """Take back what was allowed and has not been used."""
    return ApiCall("DELETE", f"{run_path(run_id)}/approvals/{quote(approval_id, safe='')}", Ignored)

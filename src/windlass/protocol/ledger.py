"""What the API says of actions and approvals."""

from windlass.protocol.api import Raw
from windlass.protocol.exchange import Wire


class ApprovalBody(Wire, frozen=True, kw_only=True):
    effect: str = "external_irreversible"
    reason: str
    expires_in_s: float = 600


class ApprovalView(Wire, frozen=True, kw_only=True):
    id: str
    run_id: str
    task_id: str
    attempt_id: str
    """The only attempt that may use it."""
    effect: str
    state: str
    """`active`, `consumed`, `revoked` or `expired`."""
    reason: str
    approved_by: str
    created_at: int
    expires_at: int
    used_by: str
    """The action it was used for."""
    used_at: int | None


class ApprovalMade(ApprovalView, frozen=True, kw_only=True):
    token: str | None
    """Shown this once; null when the same request is made again."""


class ActionView(Wire, frozen=True, kw_only=True):
    id: str
    run_id: str
    task_id: str
    attempt_id: str
    call_id: str
    tool: str
    effect: str
    state: str
    """`running`, `completed`, `failed`, or `unknown`: its attempt ended without saying."""
    summary: str
    input: Raw
    output: Raw | None
    error: str
    approval_id: str
    seq: int
    started_at: int
    finished_at: int | None

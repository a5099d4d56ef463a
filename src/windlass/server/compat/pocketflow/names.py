"""Names at the edge: ids with prefixes, statuses, bodies in any spelling, errors as text."""

from typing import Any

from starlette.responses import Response

from windlass.model.errors import BadRequest, DefinitionError
from windlass.model.rows import Run
from windlass.model.states import RunState
from windlass.model.values import check_text, is_list
from windlass.server.http import reply, status_of

STATUS: dict[RunState, str] = {
    RunState.QUEUED: "pending",
    RunState.RUNNING: "running",
    RunState.WAITING: "running",
    RunState.CANCELLING: "canceling",
    RunState.SUCCEEDED: "completed",
    RunState.FAILED: "failed",
    RunState.CANCELLED: "canceled",
}
STATES: dict[str, tuple[str, ...]] = {
    "pending": ("queued",),
    "running": ("running", "waiting"),
    "waiting_queue": ("running",),
    "canceling": ("cancelling",),
    "completed": ("succeeded",),
    "failed": ("failed",),
    "canceled": ("cancelled",),
}
OK = {"ok": "1"}
_LARGE = 2**53


def bare(prefixed: str, prefix: str) -> str:
    """An id as we know it, given with or without its prefix."""
    return prefixed.removeprefix(f"{prefix}-")


def status_text(run: Run) -> str:
    return STATUS[run.state]


def seconds(ms: int | None) -> int:
    return 0 if ms is None else ms // 1000


def text_field(fields: dict[str, Any], name: str, *, required: bool = False) -> str:
    value = fields.get(name.lower().replace("_", ""))
    if value is None or value == "":
        if required:
            raise BadRequest(f"{name} is missing")
        return ""
    if not isinstance(value, str):
        raise BadRequest(f"{name} must be text")
    check_text(name, value)
    return value


def number_field(fields: dict[str, Any], name: str) -> int:
    value = fields.get(name.lower().replace("_", ""), 0)
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < _LARGE:
        raise BadRequest(f"{name} must be a whole number")
    if value != int(value):
        raise BadRequest(f"{name} must be a whole number")
    return int(value)


def list_field(fields: dict[str, Any], name: str) -> list[str]:
    value: Any = fields.get(name.lower().replace("_", "")) or []
    if not is_list(value) or not all(isinstance(item, str) for item in value):
        raise BadRequest(f"{name} must be a list of texts")
    for item in value:
        check_text(name, item)
    return value


def error_text(error: Exception, request_id: str = "") -> Response:
    """Errors in this surface's shape."""
    status, _, _ = status_of(error)
    body: dict[str, Any] = {"error": str(error) if status != 500 else "internal error"}
    if isinstance(error, DefinitionError):
        body["problems"] = error.problems
    return reply(body, status)

"""What a handler's return value means: a status, results, metadata, artifacts, perhaps an error."""

from typing import Any, TypeGuard

from windlass.worker.adapters.host.text import message_of, trace_of

FAILURE = "E.RUNNER.FAILURE"
CANCELLED = "E.RUNNER.CANCELLED"

_STATUSES = {
    **dict.fromkeys(("SUCCEEDED", "SUCCESS", "OK", "DONE", "ALLOWED", "BLOCKED"), "SUCCEEDED"),
    **dict.fromkeys(("FAILED", "ERROR", "FAIL"), "FAILED"),
    **dict.fromkeys(("SKIPPED", "SKIP"), "SKIPPED"),
    **dict.fromkeys(("CANCELLED", "CANCELED", "CANCEL"), "CANCELLED"),
}
_OWN = ("status", "metadata", "artifacts", "error", "outputs")


def returned(value: object) -> dict[str, Any]:
    """The outcome of a handler that returned."""
    if not _is_object(value):
        kind = type(value).__name__
        return failure(f"the handler returned {kind}; it must return a dict")
    given = value
    named = str(given.get("status") or "succeeded").rpartition(".")[2].upper()
    status = _STATUSES.get(named)
    if status is None:
        known = ", ".join(sorted(set(_STATUSES.values())))
        return failure(f'the handler returned the status "{named[:60]}"; known are {known}')
    metadata: object = given.get("metadata") or {}
    artifacts = list(given.get("artifacts") or ())
    if not _is_object(metadata) or not all(_is_object(item) for item in artifacts):
        return failure("the handler returned metadata that is no dict, or artifacts that are none")
    outcome: dict[str, Any] = {
        "status": status,
        "result": _results(given),
        "metadata": metadata,
        "artifacts": artifacts,
    }
    if status in ("FAILED", "CANCELLED"):
        outcome["error"] = _error(given.get("error"), status)
    elif given.get("error") is not None and "outputs" not in given:
        outcome["result"]["error"] = given["error"]  # it is data if the handler says all is well
    return outcome


def _is_object(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def _results(given: dict[str, Any]) -> dict[str, Any]:
    outputs = given.get("outputs")
    if _is_object(outputs):
        return outputs
    if outputs is not None:
        return {"outputs": outputs}
    return {key: item for key, item in given.items() if key not in _OWN}


def _error(given: object, status: str) -> dict[str, Any]:
    code = FAILURE if status == "FAILED" else CANCELLED
    silent = f"the handler reported {status} and no reason"
    if not _is_object(given):
        return {"code": code, "message": str(given or silent)}
    found: dict[str, Any] = {
        "code": str(given.get("code") or code),
        "message": str(given.get("message") or silent),
    }
    if given.get("remediation"):
        found["remediation"] = str(given["remediation"])
    details = given.get("details")
    if details is not None:
        found["details"] = details if _is_object(details) else {"details": details}
    return found


def raised(error: BaseException) -> dict[str, Any]:
    """The outcome of a handler that raised."""
    return failure(message_of(error), {"traceback": trace_of(error)})


def failure(message: str, details: dict[str, Any] | None = None) -> dict[str, Any]:
    error: dict[str, Any] = {"code": FAILURE, "message": message}
    if details:
        error["details"] = details
    return {"status": "FAILED", "result": {}, "error": error}


def cancelled() -> dict[str, Any]:
    error = {"code": CANCELLED, "message": "the handler was cancelled"}
    return {"status": "CANCELLED", "result": {}, "error": error}

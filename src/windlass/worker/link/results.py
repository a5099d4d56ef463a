"""What became of a package's handler, as the wire says it."""

import re
from typing import Any

import msgspec

from windlass.model.values import is_object
from windlass.protocol.link import messages as m
from windlass.protocol.link.envelope import Generation
from windlass.worker.adapters.hosts import HandlerResult
from windlass.worker.link.fit import Status

_STATUSES: dict[str, Status] = {
    "SUCCEEDED": "SUCCEEDED",
    "FAILED": "FAILED",
    "SKIPPED": "SKIPPED",
    "CANCELLED": "CANCELLED",
}
_TRACE = "traceback"
_FILE = re.compile(r'File "(/[^"\n]*)"')
_PARTS_SHOWN = 2


def result_of(dispatch: m.Dispatch, outcome: HandlerResult, generation: Generation) -> m.Result:
    """An outcome as a frame. An error has no room for details: they are told beside the result."""
    error = outcome.error
    details = details_of(outcome)
    beside = {"error_details": details} if details else {}
    return m.Result(
        run_id=dispatch.run_id,
        task_id=dispatch.task_id,
        status=_STATUSES.get(outcome.status, "FAILED"),
        result=outcome.result,
        metadata={**outcome.metadata, **beside} or None,
        artifacts=[_artifact(item, generation) for item in outcome.artifacts] or None,
        error=None
        if error is None
        else m.ErrorField(code=error.code, message=error.message, remediation=error.remediation),
    )


def details_of(outcome: HandlerResult) -> dict[str, Any]:
    """What an error says beyond its message; its trace is for the log."""
    details = outcome.error.details if outcome.error is not None else None
    return {key: item for key, item in (details or {}).items() if key != _TRACE}


def trace_of(outcome: HandlerResult) -> str:
    """Where an error came from; where on this disk its files are is nobody else's business."""
    details = outcome.error.details if outcome.error is not None else None
    trace = details.get(_TRACE) if is_object(details) else None
    return _FILE.sub(_without_folders, trace) if isinstance(trace, str) else ""


def _without_folders(found: re.Match[str]) -> str:
    return f'File "{"/".join(found[1].split("/")[-_PARTS_SHOWN:])}"'


def _artifact(item: dict[str, Any], generation: Generation) -> m.Artifact:
    """The generations differ in what they call the worker that keeps it."""
    given = dict(item)
    owner = given.pop("worker_id", None) or given.pop("worker_name", None)
    given["worker_id" if generation is Generation.FIRST else "worker_name"] = owner
    known = {field: given[field] for field in m.Artifact.__struct_fields__ if field in given}
    return msgspec.convert(known, m.Artifact)

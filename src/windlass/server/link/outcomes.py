"""What a worker's frames mean to the engine, and what an assignment says on the wire."""

from typing import Any

import msgspec

from windlass.model.assignment import Assignment
from windlass.model.resources import resources_in
from windlass.model.rows import Artifact, Failure, Json
from windlass.model.times import iso
from windlass.model.values import is_list, is_object
from windlass.protocol.link import codes
from windlass.protocol.link import messages as m
from windlass.protocol.link.envelope import Generation, spelled_by_schema

BUSY_RETRY_MS = 1_000
_CAUSE_CHARS_MAX = 10_000
_METADATA_BYTES_MAX = 64 * 1024
_PAUSE_MS_MAX = 30 * 24 * 3600 * 1000
_FATAL = frozenset(
    {
        codes.RESOURCE_MISSING,
        codes.INVALID,
        codes.RESULT_TOO_LARGE,
        codes.DISPATCH_INVALID_METADATA,
    }
)
_ELSEWHERE = frozenset(
    {
        codes.UNKNOWN,
        codes.PKG_INVALID,
        codes.PKG_PERMISSION,
        codes.SESSION_STALE_BINDING,
        codes.DISPATCH_UNAVAILABLE,
    }
)
"""The worker cannot do it, another may."""


def dispatch_of(assignment: Assignment, generation: Generation) -> m.Dispatch:
    """An attempt as a worker is told of it. The wire's task is our attempt: the name itself fences
    whatever comes back late."""
    target = assignment.target
    package = bool(target is not None and target.package)
    node = assignment.node.rpartition("/")[2]
    affinity = assignment.affinity
    chain = assignment.chain
    if chain is not None and chain.index == len(chain.middlewares):
        node = chain.host
    if generation is Generation.FIRST:
        chain = None  # which its frames do not know
    return m.Dispatch(
        run_id=assignment.run_id,
        task_id=assignment.attempt_id,
        node_id=node,
        node_type=target.handler if package and target is not None else assignment.service,
        package_name=target.package if package and target is not None else m.SERVICES_PACKAGE,
        package_version=target.version if package and target is not None else "0",
        parameters=msgspec.Raw(parameters_of(assignment, package=package).encode()),
        constraints=m.Constraints(timeout_ms=assignment.timeout_ms or None),
        # Two attempts of one task must not meet; two branches of one node may.
        concurrency_key=assignment.task_id,
        resource_refs=resource_refs(assignment.input, generation),
        affinity=None
        if affinity is None
        else m.AffinityField(
            key=affinity.key,
            mode="preferred" if affinity.preferred else "sticky",
            expires_at=iso(assignment.claimed_at + affinity.ttl_ms),
        ),
        host_node_id=chain.host if chain is not None else None,
        middleware_chain=list(chain.middlewares) if chain is not None else None,
        chain_index=chain.index if chain is not None else None,
    )


def parameters_of(assignment: Assignment, *, package: bool) -> Json:
    """A package's handler gets its parameters; a plain service its input and parameters."""
    if package:
        return "{}" if assignment.input == "null" else assignment.input
    return f'{{"input":{assignment.input},"params":{assignment.params}}}'


def resource_refs(text: Json, generation: Generation) -> list[m.ResourceRef] | None:
    """The resources an input names, said once more beside it."""
    first = generation is Generation.FIRST
    found = [
        m.ResourceRef(
            resource_id=name.id,
            type=name.type,
            worker_id=name.worker_id if first else None,
            worker_name=None if first else name.worker_id,
        )
        for name in resources_in(text)
    ]
    return found or None


def failure_of(result: m.Result) -> Failure:
    """Why a result that is none failed."""
    error = result.error
    if result.status == "CANCELLED":
        text = error.message if error is not None else "stopped when asked to"
        return Failure("cancelled", text, code=codes.RUNNER_CANCELLED)
    if error is None:
        text = _cause_inside(result) or "the handler failed without a reason"
        return Failure("failed", text, code=codes.RUNNER_FAILURE)
    failure = failure_of_code(error.code, error.message)
    pause = (result.metadata or {}).get("retry_after_ms")
    if isinstance(pause, int) and 0 <= pause <= _PAUSE_MS_MAX:
        failure = msgspec.structs.replace(failure, retry_after_ms=pause)
    return failure


def _cause_inside(result: m.Result) -> str:
    """Why a handler failed that said so among its results, as `{"error": …}`: the first workers
    put there whatever a handler returned beside its outputs."""
    if b'"error"' not in bytes(result.result):
        return ""
    found = msgspec.json.decode(result.result)
    cause = found.get("error") if is_object(found) else None
    if is_object(cause):
        cause = cause.get("message") or cause
    if cause is None or cause == "":
        return ""
    text = cause if isinstance(cause, str) else msgspec.json.encode(cause).decode()
    return text[:_CAUSE_CHARS_MAX]


def failure_of_code(code: str, message: str) -> Failure:
    """A refusal or failure by its code: later, elsewhere, never, or as the retry policy says."""
    if code == codes.CONCURRENCY:
        return Failure("returned", message, retry_after_ms=BUSY_RETRY_MS, code=code)
    if code in _ELSEWHERE:
        return Failure("unreachable", message, code=code)
    if code in _FATAL:
        return Failure("fatal", message, code=code)
    return Failure("timeout" if code == codes.TIMEOUT else "failed", message, code=code)


def artifacts_of(result: m.Result, worker_id: str, now: int) -> list[Artifact]:
    """What a task made and its worker keeps. It is named beside the result, or inside it as an
    early sample has it; whose it is, is not for the worker to say."""
    named = {item.resource_id: item for item in [*_inside(result), *(result.artifacts or ())]}
    return [
        Artifact(
            attempt_id=result.task_id,
            resource_id=item.resource_id,
            run_id=result.run_id,
            worker_id=worker_id,
            type=item.type,
            size_bytes=item.size_bytes,
            inline=int(bool(item.inline)),
            expires_at=item.expires_at or "",
            metadata=msgspec.json.encode(item.metadata or {}).decode(),
            created_at=now,
        )
        for item in named.values()
    ]


def metadata_of(result: m.Result) -> dict[str, Any] | None:
    """What a worker says of its result, unless that is longer than results should be."""
    metadata = result.metadata
    if not metadata or len(msgspec.json.encode(metadata)) > _METADATA_BYTES_MAX:
        return None
    return metadata


def usage_of(result: m.Result) -> dict[str, Any] | None:
    """What the work has used up, which the frames have no field for."""
    usage = (result.metadata or {}).get("usage")
    return usage if is_object(usage) else None


def _inside(result: m.Result) -> list[m.Artifact]:
    if b'"artifacts"' not in bytes(result.result):
        return []
    found = msgspec.json.decode(result.result)
    items = found.get("artifacts") if is_object(found) else None
    artifacts: list[m.Artifact] = []
    for item in items if is_list(items) else ():
        try:
            artifacts.append(msgspec.convert(spelled_by_schema(item), m.Artifact))
        except msgspec.ValidationError:
            continue  # a result may have a list of that name for reasons of its own
    return artifacts

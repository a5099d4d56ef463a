"""AstraFlow's words for runs and nodes. Times are ISO 8601, states its own few."""

from typing import Any

import msgspec

from windlass.model.graph import Affinity
from windlass.model.notes import read_notes
from windlass.model.queues import is_link
from windlass.model.resources import resources_in
from windlass.model.rows import Artifact, Attempt, Json, Run, Task, read_failure
from windlass.model.states import AttemptState, RunState, TaskState
from windlass.model.times import iso
from windlass.protocol.exchange import Wire
from windlass.protocol.link import codes
from windlass.protocol.link.server import ACK_DEADLINE_S
from windlass.server.link.feedback import Progress
from windlass.server.link.held import dispatch_id

RUN_STATUS = {
    RunState.QUEUED: "queued",
    RunState.RUNNING: "running",
    RunState.WAITING: "running",
    RunState.CANCELLING: "running",
    RunState.SUCCEEDED: "succeeded",
    RunState.FAILED: "failed",
    RunState.CANCELLED: "cancelled",
}
NODE_STATUS = {
    TaskState.PENDING: "queued",
    TaskState.QUEUED: "queued",
    TaskState.WAITING: "queued",
    TaskState.RUNNING: "running",
    TaskState.VERIFYING: "running",
    TaskState.SUCCEEDED: "succeeded",
    TaskState.FAILED: "failed",
    TaskState.SKIPPED: "skipped",
    TaskState.CANCELLED: "cancelled",
    # It counts no longer, as something before it is redone; its node is still to be done.
    TaskState.SUPERSEDED: "queued",
}


ERROR_CODES = {
    "timeout": codes.TIMEOUT,
    "lost": codes.DISPATCH_UNAVAILABLE,
    "unreachable": codes.DISPATCH_UNAVAILABLE,
    "cancelled": codes.RUNNER_CANCELLED,
}
"""By kind of failure, for those whose worker gave no code; the rest is the runner's."""


class RunRef(Wire, frozen=True, kw_only=True):
    """What starting or cancelling a run tells."""

    run_id: str
    status: str
    definition_hash: str
    client_id: str
    created_at: str


class ResultError(Wire, frozen=True, kw_only=True, omit_defaults=True):
    code: str
    message: str
    details: dict[str, Any] | None = None


class RunArtifact(Wire, frozen=True, kw_only=True, omit_defaults=True):
    resource_id: str
    worker_id: str
    worker_name: str
    type: str
    size_bytes: int | None = None
    inline: bool = False
    expires_at: str = ""
    metadata: msgspec.Raw | None = None


class RunNode(Wire, frozen=True, kw_only=True, omit_defaults=True):
    """One node of a run as it stands."""

    node_id: str
    task_id: str
    status: str
    worker_id: str | None = None
    worker_name: str | None = None
    started_at: str | None = None
    finished_at: str | None = None
    seq: int | None = None
    pending_ack: bool | None = None
    dispatch_id: str | None = None
    ack_deadline: str | None = None
    resource_refs: list[dict[str, str]] | None = None
    affinity: dict[str, Any] | None = None
    artifacts: list[RunArtifact] | None = None
    result: msgspec.Raw | None = None
    metadata: dict[str, Any] | None = None
    error: ResultError | None = None
    state: dict[str, Any] | None = None
    middlewares: list[str] | None = None


class WorkflowRun(Wire, frozen=True, kw_only=True, omit_defaults=True):
    run_id: str
    status: str
    definition_hash: str
    client_id: str
    created_at: str
    started_at: str | None = None
    finished_at: str | None = None
    error: ResultError | None = None
    artifacts: list[RunArtifact] | None = None
    nodes: list[RunNode] | None = None


def tags_of(run: Run) -> dict[str, Any]:
    return msgspec.json.decode(run.tags, type=dict[str, Any])


def run_ref(run: Run) -> RunRef:
    tags = tags_of(run)
    return RunRef(
        run_id=run.id,
        status=RUN_STATUS[run.state],
        definition_hash=str(tags.get("definitionHash", "")),
        client_id=str(tags.get("clientId", "")),
        created_at=iso(run.created_at),
    )


def run_view(
    run: Run, nodes: list[RunNode] | None = None, artifacts: list[RunArtifact] | None = None
) -> WorkflowRun:
    ref = run_ref(run)
    return WorkflowRun(
        run_id=ref.run_id,
        status=ref.status,
        definition_hash=ref.definition_hash,
        client_id=ref.client_id,
        created_at=ref.created_at,
        started_at=when(run.started_at),
        finished_at=when(run.finished_at),
        error=error_of(run.error),
        artifacts=artifacts,
        nodes=nodes,
    )


def node_view(
    node_id: str,
    task: Task | None,
    attempt: Attempt | None,
    artifacts: list[RunArtifact],
    *,
    doer: Task | None = None,
    progress: Progress | None = None,
) -> RunNode:
    """A node from its newest task; `doer` is the task whose attempt and result are the node's own:
    the same but for a node that has middlewares."""
    if task is None:
        return RunNode(node_id=node_id, task_id=node_id, status="queued")
    linked = attempt is not None and is_link(attempt.queue)
    waiting = linked and attempt is not None and attempt.state is AttemptState.CLAIMED
    return RunNode(
        node_id=node_id,
        task_id=attempt.id if attempt is not None else task.id,
        status=NODE_STATUS[task.state],
        worker_id=attempt.worker_id if attempt is not None else None,
        worker_name=attempt.worker_id if attempt is not None else None,
        started_at=when(task.started_at),
        finished_at=when(task.finished_at),
        seq=task.ended_seq or task.made_seq,
        pending_ack=waiting if linked else None,
        dispatch_id=dispatch_id(attempt.id) if linked and attempt is not None else None,
        ack_deadline=iso(attempt.claimed_at + int(ACK_DEADLINE_S * 1000))
        if waiting and attempt is not None
        else None,
        resource_refs=refs_view(task) or None,
        artifacts=artifacts or None,
        result=None if doer is None else result_view(doer, progress),
        metadata=None if attempt is None else metadata_view(attempt),
        error=error_of(task.error),
        state=None if progress is None else state_view(progress),
    )


def result_view(task: Task, progress: Progress | None) -> msgspec.Raw | None:
    """What came of a task, or what it has told so far."""
    if task.output is not None:
        return msgspec.Raw(task.output.encode())
    if progress is None or not progress.results:
        return None
    return msgspec.Raw(msgspec.json.encode(progress.result()))


def metadata_view(attempt: Attempt) -> dict[str, Any] | None:
    """What came with a result beside it; what is odd about the result stands there too."""
    notes = read_notes(attempt.notes)
    warnings = {"warnings": list(notes.warnings)} if notes.warnings else {}
    return {**(notes.metadata or {}), **warnings} or None


def refs_view(task: Task) -> list[dict[str, str]]:
    """The resources of workers that a task's input names."""
    return [
        {"resourceId": name.id, "workerId": name.worker_id, "type": name.type}
        for name in resources_in(task.input)
    ]


def affinity_view(affinity: Affinity) -> dict[str, Any]:
    mode = "preferred" if affinity.preferred else "sticky"
    return {"key": affinity.key, "mode": mode, "ttlMs": affinity.ttl_ms}


def state_view(progress: Progress) -> dict[str, Any]:
    """What a running node said of itself last."""
    state = {
        "stage": progress.stage or "running",
        "progress": progress.progress,
        "message": progress.message,
        "lastUpdatedAt": iso(progress.at),
    }
    return {name: value for name, value in state.items() if value is not None}


def artifact_view(row: Artifact) -> RunArtifact:
    return RunArtifact(
        resource_id=row.resource_id,
        worker_id=row.worker_id,
        worker_name=row.worker_id,
        type=row.type,
        size_bytes=row.size_bytes,
        inline=bool(row.inline),
        expires_at=row.expires_at,
        metadata=msgspec.Raw(row.metadata.encode()),
    )


def error_of(text: Json | None) -> ResultError | None:
    failure = read_failure(text)
    if failure is None:
        return None
    details: dict[str, Any] | None = {"nodeId": failure.node} if failure.node else None
    code = failure.code or ERROR_CODES.get(failure.kind, codes.RUNNER_FAILURE)
    return ResultError(code=code, message=failure.message, details=details)


def when(unix_ms: int | None) -> str | None:
    return None if unix_ms is None else iso(unix_ms)

"""What the server's answers look like, as values. Times are unix milliseconds."""

from collections.abc import Iterator
from typing import Any, Generic, TypeVar

import msgspec

from windlass.model.states import RUN_ENDED, RunState

T = TypeVar("T")


class Shape(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Base: camelCase on the wire; fields a newer server adds are ignored."""


class Listed(Shape, Generic[T], frozen=True, kw_only=True):
    """Part of a list; `for item in page` and `len(page)` are those of its items."""

    items: list[T]

    def __iter__(self) -> Iterator[T]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


class Page(Listed[T], Generic[T], frozen=True, kw_only=True):
    """Part of a list; `next` is the cursor of the rest, if there is more."""

    next: str | int | None = None


class FailureInfo(Shape, frozen=True, kw_only=True):
    kind: str = "failed"
    message: str = ""
    node: str | None = None


class Published(Shape, frozen=True, kw_only=True):
    """A version that was published, now or before."""

    flow: str
    version: int
    version_id: str = ""
    flow_id: str = ""


class Validated(Shape, frozen=True, kw_only=True):
    ok: bool = True
    nodes: int = 0
    params: list[str] = []


class FlowInfo(Shape, frozen=True, kw_only=True):
    id: str
    name: str
    description: str = ""
    created_at: int = 0
    versions: int = 0
    latest: int | None = None


class VersionInfo(Shape, frozen=True, kw_only=True):
    version_id: str = ""
    flow: str = ""
    version: int = 0
    dialect: str = "flow"
    status: str = ""
    created_at: int = 0
    definition: Any = None
    """Lists of versions leave this and `params_schema` out."""
    params_schema: dict[str, Any] | None = None
    """What a run of it is given, as a JSON Schema, if it declares that."""


class RunInfo(Shape, frozen=True, kw_only=True):
    id: str
    flow: str = ""
    state: str = ""
    version: int | None = None
    flow_id: str = ""
    version_id: str = ""
    goal: str = ""
    """What it is planned for, of which lists show the beginning; empty of other runs."""
    params: dict[str, Any] | None = None
    shared: dict[str, Any] | None = None
    """Lists of runs leave both out."""
    output: Any = None
    """What a plan came to."""
    dialect: str = ""
    revision: int = 0
    """How often its graph was changed while it ran."""
    error: FailureInfo | None = None
    node: str | None = None
    action: str | None = None
    failures: int = 0
    open: int = 0
    seq: int = 0
    created_at: int | None = None
    started_at: int | None = None
    updated_at: int | None = None
    finished_at: int | None = None
    tags: dict[str, Any] | None = None
    priority: int = 0
    project: str = ""
    created: bool | None = None

    @property
    def ended(self) -> bool:
        return self.state in RUN_ENDED

    @property
    def with_failures(self) -> bool:
        """Whether it succeeded although steps of it failed: its definition says to go on then."""
        return self.state == RunState.SUCCEEDED and self.failures > 0

    @property
    def outcome(self) -> str:
        """Its state in words: `succeeded with failures` is not plainly `succeeded`."""
        return f"{self.state} with failures" if self.with_failures else self.state


class TaskInfo(Shape, frozen=True, kw_only=True):
    id: str
    node: str
    kind: str = ""
    state: str = ""
    step: int = 0
    index: int | None = None
    attempts: int = 0
    failures: int = 0
    moves: int = 0
    input: Any = None
    output: Any = None
    error: FailureInfo | None = None
    action: str | None = None
    created_at: int | None = None
    started_at: int | None = None
    finished_at: int | None = None
    due_at: int | None = None
    total: int = 0
    done: int = 0
    failed: int = 0
    generation: int = 0
    scope: str = ""
    wait_key: str | None = None


class AttemptInfo(Shape, frozen=True, kw_only=True):
    id: str
    task_id: str = ""
    number: int = 0
    state: str = ""
    worker_id: str = ""
    lease_until: int | None = None
    claimed_at: int | None = None
    started_at: int | None = None
    finished_at: int | None = None
    error: FailureInfo | None = None
    log: str | None = None


class EventInfo(Shape, frozen=True, kw_only=True):
    seq: int
    type: str
    task_id: str | None = None
    at: int = 0
    data: dict[str, Any] = {}


class RevisionInfo(Shape, frozen=True, kw_only=True):
    """A change of a run's graph while it ran."""

    revision: int
    at: int = 0
    reason: str = ""
    author: str = ""
    added: list[str] = []
    edges: list[tuple[str, str]] = []
    dropped: list[str] = []
    redone: list[str] = []


class ReasonCode(Shape, frozen=True, kw_only=True):
    """Why something stands where it stands, as a code with values; see the reference of reasons."""

    code: str = ""
    values: dict[str, Any] = {}


class Reason(Shape, frozen=True, kw_only=True):
    task: str | None = None
    state: str = ""
    text: str = ""
    reason: ReasonCode | None = None


class Why(Shape, frozen=True, kw_only=True):
    """What a run waits for, in one line and in detail."""

    line: str
    reason: ReasonCode | None = None
    at: int = 0
    more: int = 0
    cancelling: bool = False
    reasons: list[Reason] = []


class CheckpointInfo(Shape, frozen=True, kw_only=True):
    id: str
    run_id: str = ""
    task_id: str = ""
    flow: str = ""
    node: str = ""
    prompt: str = ""
    show: Any = None
    state: str = ""
    answer: Any = None
    note: str | None = None
    answered_by: str | None = None
    created_at: int | None = None
    expires_at: int | None = None
    answered_at: int | None = None
    options: list[dict[str, Any]] = []
    blocks_run: bool = False


class WorkerInfo(Shape, frozen=True, kw_only=True):
    id: str
    transport: str = ""
    url: str = ""
    services: list[str] = []
    capacity: int = 0
    load: int = 0
    state: str = ""
    seen_at: int | None = None
    registered_at: int | None = None
    held: int = 0
    packages: list[dict[str, Any]] = []


class PackageInfo(Shape, frozen=True, kw_only=True):
    """A package, and (asked for by name) one of its versions."""

    name: str
    description: str = ""
    versions: list[str] = []
    latest_version: str | None = None
    default_version: str | None = None
    dist_tags: dict[str, str] = {}
    visibility: str = ""
    state: str = ""
    version: str = ""
    status: str = ""
    manifest: dict[str, Any] = {}
    archive_sha256: str = ""
    archive_size_bytes: int = 0
    signer: str = ""


class CommandInfo(Shape, frozen=True, kw_only=True):
    """A command a worker was sent."""

    command_id: str
    worker_id: str = ""
    accepted_at: str = ""


class Redone(Shape, frozen=True, kw_only=True):
    """What a retry does again, or would."""

    task: str | None = None
    redone: list[str] = []


class BulkDone(Shape, frozen=True, kw_only=True):
    matched: int = 0
    done: int = 0
    failed: list[dict[str, Any]] = []


class TokenInfo(Shape, frozen=True, kw_only=True):
    id: str
    name: str = ""
    role: str = ""
    workers: str = ""
    token: str = ""
    """Shown once, when it is made."""
    created_at: int | None = None
    expires_at: int | None = None
    revoked_at: int | None = None
    tenant: str = ""


class TenantInfo(Shape, frozen=True, kw_only=True):
    name: str
    description: str = ""
    created_at: int | None = None
    weight: int = 1


class LimitInfo(Shape, frozen=True, kw_only=True):
    """A key that is in use."""

    key: str
    max: int | float | None = None
    rate: int = 0
    per_s: float = 1.0
    burst: int = 1
    in_use: int | float = 0
    waiting: int = 0
    paused_until: int | None = None
    next_at: int | None = None
    rule: str = ""
    unit: str = ""
    budget: float | None = None
    spent: float = 0
    reserved: float = 0
    breaker: str = ""
    failures: int = 0


class LimitRuleInfo(Shape, frozen=True, kw_only=True):
    """What was set for keys."""

    pattern: str
    max: int | float | None = None
    rate: int | None = None
    per_s: float = 1.0
    burst: int = 1
    changed_at: int | None = None
    changed_by: str = ""
    budget: float | None = None
    trip_after: int | None = None
    reset_s: float = 0


class DeadLetterInfo(Shape, frozen=True, kw_only=True):
    """Something that was given up for good."""

    id: str
    kind: str
    run_id: str = ""
    flow: str = ""
    name: str = ""
    failure_class: str = ""
    message: str = ""
    tries: int = 0
    died_at: int | None = None


class DeadLetterTry(Shape, frozen=True, kw_only=True):
    number: int
    at: int
    by: str = ""
    failure_class: str = ""
    message: str = ""


class DeadLetter(DeadLetterInfo, frozen=True, kw_only=True):
    """A dead letter with its history, and what can be done."""

    history: list[DeadLetterTry] = []
    next_move: str = ""
    advice: str = ""


class DeadLetterRefused(Shape, frozen=True, kw_only=True):
    id: str
    detail: str


class DeadLettersDone(Shape, frozen=True, kw_only=True):
    matched: int
    done: int
    refused: list[DeadLetterRefused] = []
    next: str | None = None
    before: int


class ActionInfo(Shape, frozen=True, kw_only=True):
    """Something an attempt did outside."""

    id: str
    run_id: str
    task_id: str
    attempt_id: str
    call_id: str
    tool: str
    effect: str
    state: str
    """`running`, `completed`, `failed`, or `unknown`: its attempt ended without saying."""
    summary: str = ""
    input: Any = None
    output: Any = None
    error: str = ""
    approval_id: str = ""
    seq: int = 0
    started_at: int
    finished_at: int | None = None


class BoardEntry(Shape, frozen=True, kw_only=True):
    """A key of a run's blackboard, at a revision."""

    key: str
    revision: int
    writer: str
    writer_id: str = ""
    attempt_id: str = ""
    payload: Any = None
    at: int = 0


class ApprovalInfo(Shape, frozen=True, kw_only=True):
    """Somebody allowed one attempt one thing that cannot be undone."""

    id: str
    run_id: str
    task_id: str
    attempt_id: str
    effect: str
    state: str
    reason: str = ""
    approved_by: str = ""
    created_at: int
    expires_at: int
    used_by: str = ""
    used_at: int | None = None


class Approval(ApprovalInfo, frozen=True, kw_only=True):
    """An approval as it was made, with its token; that is shown this once."""

    token: str | None = None


class ServerInfo(Shape, frozen=True, kw_only=True):
    version: str = ""
    store: str = ""
    blobs: str = ""
    lease_s: float = 0
    auth: bool = False

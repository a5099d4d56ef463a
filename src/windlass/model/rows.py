"""Rows: one struct per table, its fields the table's columns, in their order.

Rows are immutable values; a change is a new row. Payloads (`Json`) are JSON text and travel
unparsed unless somebody asks for a part of them. Times are unix milliseconds, database time.
`KEY` names the primary key, `FIXED` the columns that are written once, with the row: an update
never carries them again, so a step costs the same whatever the size of its run's parameters.
"""

from collections.abc import Mapping
from operator import attrgetter
from typing import Any, ClassVar, NamedTuple

import msgspec

from windlass.model.states import AttemptState, CheckpointState, Role, RunState, TaskState

Json = str


class Row(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """Base of all rows; array-like, so a database's tuple converts to one directly."""

    TABLE: ClassVar[str]
    KEY: ClassVar[tuple[str, ...]] = ("id",)
    FIXED: ClassVar[frozenset[str]] = frozenset()
    LATE: ClassVar[frozenset[str]] = frozenset()
    """Columns that stay empty until they are written, and are hardly ever written again; an update
    carries them only then, and never empties them."""
    HEAVY: ClassVar[Mapping[str, str]] = {}
    """Columns with payloads, and the SQL that stands for them where nobody looks at payloads."""
    UPSERT: ClassVar[bool] = False
    """Making a row whose key exists replaces it."""

    def __init_subclass__(cls) -> None:
        # Every row of every pass is asked for its key several times.
        cls.pk = property(attrgetter(*cls.KEY))  # type: ignore[method-assign,assignment]

    @property
    def pk(self) -> Any:
        """The primary key: a plain value, or a tuple where it has several columns."""
        raise NotImplementedError


class Flow(Row, frozen=True, kw_only=True):
    TABLE = "flows"
    id: str
    name: str
    description: str = ""
    created_at: int
    tenant: str = "default"


class Version(Row, frozen=True, kw_only=True):
    """One immutable published text of a flow, in a dialect."""

    TABLE = "versions"
    FIXED = frozenset({"flow_id", "number", "dialect", "source", "created_at", "locked"})
    HEAVY: ClassVar[Mapping[str, str]] = {"source": "'{}'", "locked": "null"}
    id: str
    flow_id: str
    number: int
    dialect: str = "flow"
    source: Json
    status: str = "published"
    created_at: int
    locked: Json | None = None
    """What the definition leaves to packages, as they said it when it was published."""


class Run(Row, frozen=True, kw_only=True):
    """One durable execution of a graph, and the counters of its top-level scope."""

    TABLE = "runs"
    FIXED = frozenset(
        {
            "version_id",
            "flow_id",
            "flow_name",
            "params",
            "request_id",
            "tags",
            "created_at",
            "tenant",
            "dialect",
            "budget",
            "project",
            "quota",
        }
    )
    HEAVY: ClassVar[Mapping[str, str]] = {"params": "'{}'"}
    id: str
    version_id: str
    flow_id: str
    flow_name: str
    state: RunState
    generation: int = 0
    """Grows when an ended run is reopened; the database refuses to leave an end without it."""
    graph_rev: int = 0
    seq: int = 0
    """Number of the newest event; every change of anything in the run raises it."""
    params: Json = "{}"
    request_id: str = ""
    tags: Json = "{}"
    priority: int = 0
    made: int = 0
    """Tasks ever made at the top level: the next one's step."""
    open: int = 0
    """Top-level tasks that have not ended."""
    active: int = 0
    """Tasks at any depth that are queued, running or being verified."""
    failures: int = 0
    """Tasks at any depth that failed for good, whether or not the run went on."""
    node: str = ""
    action: str = ""
    error: Json | None = None
    created_at: int
    started_at: int | None = None
    updated_at: int
    finished_at: int | None = None
    tenant: str = "default"
    dialect: str = "flow"
    """In what its version is written."""
    barriers: int = 0
    """Open questions that hold back all of it."""
    budget: Json = ""
    """What it may use up, as it was started: `Budget`; empty for what its definition says."""
    project: str = ""
    """Which part of its tenant's work it belongs to."""
    quota: Json = ""
    """The limits it holds a place of from when it begins until it ends; empty for none."""


class Task(Row, frozen=True, kw_only=True):
    """One visit to one node; for a container also the counters of its children."""

    TABLE = "tasks"
    FIXED = frozenset({"run_id", "scope", "node", "kind", "step", "idx", "made_seq", "created_at"})
    LATE = frozenset({"input"})
    HEAVY: ClassVar[Mapping[str, str]] = {"input": "null", "output": "null"}
    id: str
    run_id: str
    scope: str
    node: str
    kind: str
    state: TaskState
    generation: int = 0
    step: int = 0
    idx: int = -1
    """Position among the branches of a fan-out; -1 elsewhere."""
    queue: str | None = None
    priority: int = 0
    ready_at: int | None = None
    attempts: int = 0
    """Attempts ever leased: the newest one's number, and the epoch that fences writes."""
    failures: int = 0
    moves: int = 0
    """Attempts lost or unreachable, which do not count as failures of the work itself."""
    avoid: str | None = None
    edges_open: int = 0
    """Incoming edges that have neither fired nor been skipped, where a node waits for all."""
    edges_fired: int = 0
    wait_key: str | None = None
    due_at: int | None = None
    total: int = 0
    made: int = 0
    released: int = 0
    open: int = 0
    failed: int = 0
    input: Json | None = None
    output: Json | None = None
    error: Json | None = None
    action: str = ""
    made_seq: int = 0
    ended_seq: int = 0
    created_at: int
    started_at: int | None = None
    finished_at: int | None = None
    claim: int = 0
    """Number of the attempt whose result is being judged, or was last; 0 where none ever was."""
    limits: Json = ""
    """Limits its attempts are under, as its node's keys came out: a list of `Limit`."""
    parked: str | None = None
    """The limit it waits for; only a task that waits has one."""
    env: str = ""
    """The session of an environment that it has, or waits for; see `model.envs`."""

    @property
    def claimable(self) -> bool:
        """Whether it waits for somebody to claim it: to do it, or to judge what was done."""
        if self.state is TaskState.VERIFYING:
            return self.queue is not None
        return self.state is TaskState.QUEUED


class Attempt(Row, frozen=True, kw_only=True):
    """One leased try of a task. Its number is the lease's epoch."""

    TABLE = "attempts"
    # The lease is renewed by a statement of its own, which a row kept in memory must not undo.
    FIXED = frozenset({"task_id", "run_id", "number", "queue", "role", "limits", "manifest"}).union(
        {"claimed_at", "holder", "lease_until"}
    )
    LATE = frozenset({"notes"})
    HEAVY: ClassVar[Mapping[str, str]] = {
        "output": "null",
        "log": "null",
        "notes": "null",
        "manifest": "''",
    }
    id: str
    task_id: str
    run_id: str
    number: int
    state: AttemptState
    queue: str
    worker_id: str
    worker_url: str = ""
    holder: str = ""
    """The process that keeps the lease alive: the worker itself, or the server for push."""
    lease_until: int
    cancel_at: int | None = None
    """When the holder was asked to stop; None while nobody asked."""
    output: Json | None = None
    """A result that was not accepted, came after the lease had run out, or is judged by another
    attempt: a claim, as a verdict is. One that was accepted at once stands on the task alone."""
    error: Json | None = None
    log: str | None = None
    claimed_at: int
    started_at: int | None = None
    finished_at: int | None = None
    notes: Json | None = None
    """What came with the outcome beside it: `AttemptNotes`; None where there is nothing to say."""
    role: Role = Role.WORK
    """What its result means to the run."""
    external_ref: str = ""
    """What the work is called where it is done, such as a pod's uid."""
    limits: Json = ""
    """Ids of the limits it holds a place of while it lives."""
    manifest: Json = ""
    """What it was given when it was leased: `InputManifest`; empty where that is its task's input
    and nothing else."""


class Variable(Row, frozen=True, kw_only=True):
    """One key of the state the tasks of a scope share."""

    TABLE = "variables"
    UPSERT = True
    KEY = ("scope", "key")
    scope: str
    key: str
    run_id: str
    value: Json
    seq: int


class Timer(Row, frozen=True, kw_only=True):
    """Something that happens to a task at a time unless it is removed first."""

    TABLE = "timers"
    UPSERT = True
    FIXED = frozenset({"run_id", "task_id", "kind"})
    id: str
    run_id: str
    task_id: str
    kind: str
    due_at: int


class Checkpoint(Row, frozen=True, kw_only=True):
    """Where a run waits for a person."""

    TABLE = "checkpoints"
    FIXED = frozenset(
        {"run_id", "task_id", "flow_name", "node", "kind", "prompt", "created_at", "tenant"}
        | {"details"}
    )
    id: str
    run_id: str
    task_id: str
    flow_name: str
    node: str
    kind: str = "approval"
    state: CheckpointState = CheckpointState.OPEN
    prompt: str = ""
    show: Json | None = None
    answer: Json | None = None
    note: str = ""
    answered_by: str = ""
    created_at: int
    expires_at: int | None = None
    answered_at: int | None = None
    tenant: str = "default"
    details: Json | None = None
    """What else is asked: `Question`; None where yes or no is all."""


class Event(Row, frozen=True, kw_only=True):
    """A fact about a run, in order; `data` holds what it changed. History and outbox in one."""

    TABLE = "events"
    KEY = ("run_id", "seq")
    run_id: str
    seq: int
    type: str
    task_id: str | None = None
    at: int
    data: Json = "{}"


class Idempotency(Row, frozen=True, kw_only=True):
    """The answer an idempotency key already has."""

    TABLE = "idempotency"
    KEY = ("key",)
    key: str
    run_id: str
    """What was made under it: a run, or a command or version."""
    request_hash: str
    created_at: int


class Worker(Row, frozen=True, kw_only=True):
    TABLE = "workers"
    UPSERT = True
    FIXED = frozenset({"registered_at"})
    id: str
    url: str = ""
    transport: str = "push"
    services: Json = "[]"
    load: int = 0
    capacity: int = 0
    """How many attempts it takes at once; 0 when it did not say."""
    state: str = "online"
    meta: Json = "{}"
    registered_at: int
    seen_at: int
    tenant: str = "default"
    """Whose tasks it gets; `*`: everybody's."""


class Binding(Row, frozen=True, kw_only=True):
    """The worker that executes a package's tasks in a run, chosen with the first of them."""

    TABLE = "bindings"
    UPSERT = True
    KEY = ("run_id", "package")
    run_id: str
    package: str
    worker_id: str
    bound_at: int


class AffinityHold(Row, frozen=True, kw_only=True):
    """The worker that tasks with an affinity key go to, over all runs, until it expires."""

    TABLE = "affinities"
    UPSERT = True
    KEY = ("key",)
    key: str
    worker_id: str
    held_at: int
    expires_at: int


class Artifact(Row, frozen=True, kw_only=True):
    """Something a task made that its worker keeps, or that was uploaded, named in its result."""

    TABLE = "artifacts"
    UPSERT = True
    KEY = ("attempt_id", "resource_id")
    attempt_id: str
    resource_id: str
    run_id: str
    worker_id: str
    type: str
    size_bytes: int | None = None
    inline: int = 0
    expires_at: str = ""
    metadata: Json = "{}"
    created_at: int


class LogChunk(Row, frozen=True, kw_only=True):
    """A piece of what an attempt said while it was running, with its `log_marks`."""

    TABLE = "log_chunks"
    KEY = ("attempt_id", "number")
    # Nobody can tell whether a write without an event was committed, so it is written again.
    UPSERT = True
    attempt_id: str
    number: int
    run_id: str
    channel: str
    text: str
    at: int
    marks: Json = ""


class Resource(Row, frozen=True, kw_only=True):
    """A file somebody uploaded, whole or part by part."""

    TABLE = "resources"
    FIXED = frozenset({"filename", "type", "mime_type", "owner", "created_at", "tenant"})
    id: str
    filename: str
    type: str = "file"
    mime_type: str = "application/octet-stream"
    state: str = "pending"
    """pending, complete or aborted."""
    size_bytes: int
    sha256: str = ""
    chunk_bytes: int = 0
    parts: Json = "[]"
    """Numbers of the parts that have arrived."""
    owner: str = ""
    visibility: str = "private"
    metadata: Json = "{}"
    created_at: int
    expires_at: int | None = None
    tenant: str = "default"


class BranchResult(NamedTuple):
    """How one branch of a fan-out ended."""

    idx: int
    state: TaskState
    output: Json | None
    error: Json | None


class Failure(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why an attempt or task failed, as kept in an `error` column."""

    kind: str
    """`failed`, `fatal` (never retried), `timeout`; `unreachable`, `lost`, `cancelled` (by its
    holder) and `returned` (never begun) say nothing against the work itself."""
    message: str
    node: str = ""
    retry_after_ms: int | None = None
    code: str = ""
    """What the worker's protocol calls it, such as `E.RUNNER.FAILURE`."""

    def json(self) -> Json:
        return msgspec.json.encode(self).decode()


def read_failure(text: Json | None) -> Failure | None:
    return msgspec.json.decode(text, type=Failure) if text else None

"""The native API's bodies and views: camelCase JSON, times in unix milliseconds."""

from typing import Annotated, Any, Generic, TypeVar

import msgspec
from msgspec import Meta

from windlass.protocol.exchange import Wire

Raw = msgspec.Raw


class Problem(Wire, frozen=True, kw_only=True, omit_defaults=True):
    """One thing wrong with a definition."""

    path: str
    reason: str
    hint: str = ""


class ErrorView(Wire, frozen=True, kw_only=True, omit_defaults=True):
    """RFC 9457 problem details, and the same in AstraFlow's words."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    error: str
    """A word for the kind of error, which programs can rely on."""
    message: str
    """What `detail` says."""
    request_id: str = ""
    """The `X-Request-ID` of the request, if it had one."""
    retryable: bool = False
    problems: list[Problem] = []


T = TypeVar("T")


class Page(Wire, Generic[T], frozen=True, kw_only=True):
    """A page of a list; `next` is the cursor of the one after, None at the end."""

    items: list[T]
    next: str | int | None = None


# Flows


class VersionBody(Wire, frozen=True, kw_only=True):
    definition: Raw
    description: str = ""
    status: str = "published"
    dialect: str = "flow"


class PublishedView(Wire, frozen=True, kw_only=True):
    flow_id: str
    flow: str
    version: int
    version_id: str
    created: bool


class WarningView(Wire, frozen=True, kw_only=True):
    """What the author of a definition may not have meant, though it can be run."""

    path: str
    reason: str
    hint: str


class ValidView(Wire, frozen=True, kw_only=True):
    ok: bool
    nodes: int
    params: list[str]
    warnings: list[WarningView] = []


class FlowView(Wire, frozen=True, kw_only=True):
    id: str
    name: str
    description: str
    created_at: int
    versions: int
    latest: int


class VersionView(Wire, frozen=True, kw_only=True):
    version_id: str
    flow: str
    version: int
    dialect: str
    status: str
    created_at: int
    definition: Raw | None
    """Lists leave this and `params_schema` out."""
    params_schema: Raw | None = None
    """What a run of it is given, as a JSON Schema; none if it is not declared."""


# Runs


class StartBody(Wire, frozen=True, kw_only=True):
    """What to run: a `flow` by its name or, with the dialect `plan`, a `goal`."""

    flow: str = ""
    version: Annotated[int, Meta(ge=0, le=2**31)] = 0
    params: dict[str, Raw] = {}
    tags: dict[str, str] = {}
    priority: Annotated[int, Meta(ge=-1_000_000, le=1_000_000)] = 0
    request_id: str = ""
    dialect: str = ""
    goal: str = ""
    input: Any = None
    plan: dict[str, Any] | None = None
    """A plan to begin with; without it a planner is asked."""
    planner_profile: str | None = None
    worker_profile: str | None = None
    profiles: dict[str, Any] | None = None
    """Profiles that are pods: `{NAME: {"kind": "pod", "pod": {…}}}`."""
    output_schema: dict[str, Any] | None = None
    on_failure: str | None = None
    limits: dict[str, Any] | None = None
    budget: dict[str, Any] | None = None
    """What it may use up: `tokens`, `money`, `attempts`, `launches`, `seconds`; `estimate` is what
    one attempt is expected to use."""
    project: str = ""
    """Which part of the tenant's work it belongs to, for quotas and to look for it by."""


class StartedView(Wire, frozen=True, kw_only=True):
    id: str
    flow: str
    version: int
    state: str
    created: bool
    priority: int = 0
    tags: dict[str, str] = {}


class RunView(Wire, frozen=True, kw_only=True):
    id: str
    flow: str
    flow_id: str
    version_id: str
    version: int | None
    state: str
    goal: str
    """What it is planned for, of which lists show the beginning; empty of other runs."""
    params: Raw | None
    """Lists leave these and `shared` out."""
    shared: dict[str, Raw] | None
    output: Raw | None
    """What a plan came to; other runs keep theirs in `shared`."""
    dialect: str
    error: Raw | None
    node: str
    action: str
    failures: int
    open: int
    seq: int
    generation: int
    revision: int
    """How often its graph was changed while it ran."""
    tags: Raw
    priority: int
    budget: dict[str, Any]
    """What it was given to use up; what is left is under `/limits`."""
    project: str
    request_id: str
    created_at: int
    started_at: int | None
    updated_at: int
    finished_at: int | None


class TaskView(Wire, frozen=True, kw_only=True):
    id: str
    scope: str
    node: str
    kind: str
    state: str
    step: int
    index: int | None
    queue: str | None
    attempts: int
    failures: int
    moves: int
    generation: int
    total: int
    done: int
    failed: int
    input: Raw | None
    output: Raw | None
    error: Raw | None
    action: str
    wait_key: str | None
    created_at: int
    started_at: int | None
    finished_at: int | None
    due_at: int | None


class AttemptView(Wire, frozen=True, kw_only=True):
    id: str
    task_id: str
    number: int
    state: str
    queue: str
    worker_id: str
    worker_url: str
    lease_until: int | None
    """None for one that has no lease to run out: a pod."""
    cancel_requested_at: int | None
    claimed_at: int
    started_at: int | None
    finished_at: int | None
    error: Raw | None
    log: str | None
    warnings: list[str]
    """Why its result was taken though it is not what its package promises."""
    metadata: Raw | None
    """What its worker said of the result."""
    role: str
    """`work`, `plan`, or `verify`: a verdict on another attempt's result."""
    output: Raw | None
    """A claim that is judged, a verdict, or a result that did not count; else the task has it."""
    usage: dict[str, float]
    """What its worker says it has used up, by unit."""
    external_ref: str
    """What the work is called where it is done, such as a pod's uid."""
    manifest: Raw | None
    """What it was given with its brief: inputs, blackboard, artifacts, env, and a hash over all."""


class EventView(Wire, frozen=True, kw_only=True):
    seq: int
    type: str
    task_id: str | None
    at: int
    data: Raw


class RevisionView(Wire, frozen=True, kw_only=True):
    """A change of a run's graph while it ran."""

    revision: int
    at: int
    reason: str
    author: str
    added: list[str]
    """Paths of nodes."""
    edges: list[tuple[str, str]]
    """Edges that were added, from and to."""
    dropped: list[str]
    redone: list[str]


class CancelBody(Wire, frozen=True, kw_only=True):
    reason: str = ""


class PriorityBody(Wire, frozen=True, kw_only=True):
    priority: Annotated[int, Meta(ge=-1_000_000, le=1_000_000)]
    """Higher goes first."""


class HintBody(Wire, frozen=True, kw_only=True):
    kind: str
    """`context_update`, `constraint_update` or `replan_request`."""
    summary: str = ""
    details: dict[str, Any] = {}
    """What is added, or a `replacement_plan`."""
    task: str = ""
    """The task it is about: its alias or id; empty: the whole plan."""


class OptionBody(Wire, frozen=True, kw_only=True):
    id: str
    label: str = ""
    kind: str = "choice"
    """`choice`, or `freeform` where words are wanted."""
    description: str = ""


class QuestionBody(Wire, frozen=True, kw_only=True):
    question: str
    options: list[OptionBody] = []
    """Answers to choose from; without any, the answer is in the person's own words."""
    default_action: dict[str, Any] | None = None
    """What counts when nobody answers in time: `{mode, option_id, freeform_input}`."""
    timeout_seconds: float = 0
    severity: str = ""
    reason_code: str = ""
    blocks_run: bool = False
    """Whether nothing of the run is handed out until it is answered."""

    def plain(self) -> dict[str, Any]:
        """The same as attempts write it."""
        options = [msgspec.structs.asdict(option) for option in self.options]
        return {**msgspec.structs.asdict(self), "options": options}


class SignalBody(Wire, frozen=True, kw_only=True):
    key: str
    value: Raw


class RetryBody(Wire, frozen=True, kw_only=True, rename={"from_": "from", "dry_run": "dryRun"}):
    task: str | None = None
    from_: bool = False
    dry_run: bool = False


class RetryView(Wire, frozen=True, kw_only=True):
    task: str
    redone: list[str]


class BulkBody(Wire, frozen=True, kw_only=True):
    action: str
    q: str
    dry_run: bool = False


class BulkFailure(Wire, frozen=True, kw_only=True):
    id: str
    detail: str


class BulkView(Wire, frozen=True, kw_only=True):
    matched: int
    done: int
    failed: list[BulkFailure]


# People, workers, tokens, the server itself


class CheckpointView(Wire, frozen=True, kw_only=True):
    id: str
    run_id: str
    task_id: str
    flow: str
    node: str
    kind: str
    state: str
    prompt: str
    show: Raw | None
    answer: Raw | None
    note: str
    answered_by: str
    created_at: int
    expires_at: int | None
    answered_at: int | None
    options: list[Raw]
    """Answers to choose from; empty where yes or no is all."""
    default_action: Raw | None = None
    """What counts when nobody answers in time."""
    severity: str = ""
    reason_code: str = ""
    blocks_run: bool = False
    """Whether the whole run is held back until it is answered."""
    asked_by: str = ""
    """Who asked from outside; empty where the run itself did."""


class AnswerBody(Wire, frozen=True, kw_only=True):
    answer: Any
    note: str = ""


class TokenBody(Wire, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A misspelt restriction would be none, so what is not known here is refused."""

    name: str
    role: str
    expires_in_s: int | None = None
    fingerprint: str = ""
    """The SHA-256 of a client certificate, which then stands for the token."""
    workers: str = ""
    """The only worker it may act for, or `prefix*`; empty: any. Needs the role worker."""
    tenant: str = ""
    """Where it acts; empty: where its maker does. `*` is an operator of the whole system's."""


class TokenMadeView(Wire, frozen=True, kw_only=True):
    id: str
    token: str


class TokenView(Wire, frozen=True, kw_only=True):
    id: str
    name: str
    role: str
    workers: str
    created_at: int
    expires_at: int | None
    revoked_at: int | None
    tenant: str


Weight = Annotated[int, Meta(ge=1, le=1_000)]


class TenantBody(Wire, frozen=True, kw_only=True):
    name: str
    description: str = ""
    weight: Weight = 1
    """How much of what is free it gets, beside the others that have something waiting."""


class TenantChangeBody(Wire, frozen=True, kw_only=True):
    weight: Weight


class TenantView(Wire, frozen=True, kw_only=True):
    name: str
    description: str
    created_at: int
    weight: int


class InfoView(Wire, frozen=True, kw_only=True):
    version: str
    store: str
    blobs: str
    """Where packages and uploads are kept: `files` or `database`."""
    lease_s: float
    auth: bool
    roles: list[str]


class OkView(Wire, frozen=True, kw_only=True):
    ok: bool = True

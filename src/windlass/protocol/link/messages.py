"""What can be said on the link: one struct per payload, for both generations of the wire.

The generations differ in the names of their frames (see `envelope`) and in what they call a worker
(`worker_id`, later `worker_name`); a struct that serves both has both fields and fills one.
Unknown fields are refused, as the published schemas say, except where a payload is meant to grow.
"""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

Positive = Annotated[int, Meta(ge=1)]
Count = Annotated[int, Meta(ge=0)]
Name = Annotated[str, Meta(min_length=1)]


SERVICES_PACKAGE = "windlass.services"
"""What plain services are called on a wire that knows only packages."""


class Message(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True, kw_only=True):
    """Base of all payloads."""


# Who is there


class AuthField(Message):
    mode: str
    """`token` or `mtls`; anything else is answered with a code of its own."""
    token: str | None = None
    fingerprint: str | None = None


class WorkerField(Message):
    """Who connects: `id` in the first generation, a name and an instance in the second."""

    version: str
    hostname: str
    id: str | None = None
    worker_name: str | None = None
    worker_instance_id: str | None = None

    @property
    def name(self) -> str:
        return self.id or self.worker_name or ""


class Handshake(Message):
    protocol: Positive
    auth: AuthField
    worker: WorkerField


class Concurrency(Message):
    max_parallel: Positive
    per_node_limits: dict[str, Positive] | None = None


class Capabilities(Message):
    concurrency: Concurrency
    runtimes: list[str]
    features: list[str] = []


class PackageField(Message):
    """One version of a package a worker has, lacks or failed to install."""

    name: Name
    version: Name
    status: str


class ManifestField(Message):
    name: str
    version: str
    manifest: dict[str, Any]


class Register(Message):
    capabilities: Capabilities
    packages: list[PackageField] = []
    payload_types: list[str] | None = None
    channels: list[str] | None = None
    manifests: list[ManifestField] | None = None
    queues: list[str] | None = None
    """Never used, but the first published schema demands it, so some send it."""


class Accept(Message):
    session_id: str
    session_token: str
    worker_instance_id: str
    expires_at: str | None = None
    resumed: bool | None = None


class Resume(Message):
    session_id: str
    session_token: str
    last_seen_seq: Count | None = None


class Reset(Message):
    code: str
    reason: str
    retry_after_ms: int | None = None


UNDRAIN = "undrain"
"""The reason of a drain that takes an earlier one back."""


class Drain(Message):
    reason: str | None = None
    deadline_ms: int | None = None


class Drift(Message):
    drift: bool | None = None


class Heartbeat(Message):
    healthy: bool
    metrics: dict[str, Any]
    """`inflight` is required; `held`, beyond the published schema, lists the tasks in hand."""
    packages: Drift | None = None


class Ack(Message):
    ok: bool | None = None
    for_: str | None = msgspec.field(default=None, name="for")
    info: Any = None
    ack_seq: Count | None = None
    ack_bitmap: Count | None = None
    recv_window: Positive | None = None


# Work


class ResourceRef(Message):
    """A resource a task needs; it pins the task to the worker that has it."""

    resource_id: str
    type: str
    worker_id: str | None = None
    worker_name: str | None = None
    scope: str | None = None
    expires_at: str | None = None
    metadata: dict[str, Any] | None = None

    @property
    def owner(self) -> str:
        return self.worker_id or self.worker_name or ""


class AffinityField(Message):
    key: str
    mode: str | None = None
    expires_at: str | None = None


class Constraints(Message):
    timeout_ms: Positive | None = None


class EnvField(Message):
    """The environment a task is done in, and what lets its holder in."""

    session_id: Name
    kind: str
    resource_name: str
    lease_epoch: Count
    token: str
    """The attempt's own: goes with every call into the environment, and counts while the lease
    does."""
    details: dict[str, Any] | None = None


class Dispatch(Message):
    run_id: Name
    task_id: Name
    node_id: str
    node_type: str
    package_name: str
    package_version: str
    parameters: msgspec.Raw
    constraints: Constraints
    priority: int | None = None
    concurrency_key: str | None = None
    resource_refs: list[ResourceRef] | None = None
    affinity: AffinityField | None = None
    host_node_id: str | None = None
    middleware_chain: list[str] | None = None
    chain_index: Count | None = None
    env: EnvField | None = None
    """Only for workers that advertise the feature `env`."""
    token: str | None = None
    """The attempt's own, for what it tells the server beside its result; only for workers that
    advertise the feature `desk`."""


class Artifact(Message):
    """Something a worker made and keeps, named instead of sent."""

    resource_id: str
    type: str
    worker_id: str | None = None
    worker_name: str | None = None
    size_bytes: Count | None = None
    inline: bool | None = None
    expires_at: str | None = None
    metadata: dict[str, Any] | None = None


class ErrorField(Message):
    code: str
    message: str
    remediation: str | None = None
    details: dict[str, Any] | None = None


class Result(Message):
    """How a task ended."""

    run_id: Name
    task_id: Name
    status: Literal["SUCCEEDED", "FAILED", "SKIPPED", "CANCELLED"]
    result: msgspec.Raw
    duration_ms: int | None = None
    metadata: dict[str, Any] | None = None
    artifacts: list[Artifact] | None = None
    error: ErrorField | None = None


class ErrorContext(Message):
    where: str | None = None
    details: dict[str, Any] | None = None


class CommandError(Message):
    """A command could not be carried out; the details of its context name the task."""

    code: str
    message: str
    remediation: str | None = None
    context: ErrorContext | None = None

    @property
    def run_id(self) -> str:
        return self._detail("run_id")

    @property
    def task_id(self) -> str:
        return self._detail("task_id")

    def _detail(self, name: str) -> str:
        details = self.context.details if self.context is not None else None
        found = (details or {}).get(name)
        return found if isinstance(found, str) else ""


class Chunk(Message):
    channel: str
    index: int | None = None
    mime_type: str | None = None
    text: str | None = None
    data_base64: str | None = None
    metadata: dict[str, Any] | None = None


class Feedback(Message):
    run_id: Name
    task_id: Name
    stage: str | None = None
    progress: Annotated[float, Meta(ge=0, le=1)] | None = None
    message: str | None = None
    metrics: dict[str, float] | None = None
    metadata: dict[str, Any] | None = None
    chunks: list[Chunk] | None = None


class NextRequest(Message, rename="camel"):
    """A middleware asks for the next link of its chain to be executed."""

    request_id: str
    run_id: str
    node_id: str
    middleware_id: str
    chain_index: Count | None = None
    host_ctx: dict[str, Any] | None = None
    middleware_ctx: dict[str, Any] | None = None
    payload: dict[str, Any] | None = None
    timeout_ms: int | None = None


class NextError(Message):
    code: str
    message: str


class NextResponse(Message, rename="camel"):
    request_id: str
    run_id: str
    node_id: str
    middleware_id: str
    result: msgspec.Raw | None = None
    error: NextError | None = None
    trace: dict[str, Any] | None = None


# Packages


class PkgInstall(Message):
    name: str
    version: str
    url: str | None = None
    sha256: str | None = None


class PkgUninstall(Message):
    name: str
    version: str | None = None


class PkgEvent(Message):
    name: str
    version: str
    status: str
    log_url: str | None = None
    details: dict[str, Any] | None = None


class CatalogItem(Message):
    name: str
    version: str
    status: str
    manifest: dict[str, Any]
    source: str | None = None
    metadata: dict[str, Any] | None = None


class PkgCatalog(Message):
    packages: list[CatalogItem]


# Beyond the published wire: only to workers that advertise the feature of that name


class Cancel(Message):
    run_id: Name
    task_id: Name
    reason: str | None = None


class Rebind(Message):
    run_id: str
    reason: str | None = None


class ReleaseResources(Message):
    scope: str
    reason: str | None = None

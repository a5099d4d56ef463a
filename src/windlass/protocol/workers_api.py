"""Bodies and views of the paths about workers on the link."""

from typing import Any

from windlass.protocol.exchange import Wire


class WorkerPackage(Wire, frozen=True, kw_only=True):
    name: str
    version: str
    status: str


class WorkerView(Wire, frozen=True, kw_only=True):
    """A worker; what only workers on the link tell of themselves is empty for others."""

    id: str
    transport: str
    url: str
    services: list[str]
    queues: list[str]
    """AstraFlow's word for services."""
    capacity: int
    load: int
    held: int
    state: str
    connected: bool
    """Whether it is on the link now."""
    registered: bool
    registered_at: int
    seen_at: int
    last_heartbeat_at: str
    """AstraFlow's word for `seenAt`, in ISO 8601."""
    packages: list[WorkerPackage] = []
    hostname: str = ""
    version: str = ""
    instance_id: str = ""
    tenant: str = ""
    capabilities: dict[str, Any] | None = None
    heartbeat: dict[str, Any] | None = None
    payload_types: list[str] = []
    channels: list[str] = []


class WorkerList(Wire, frozen=True, kw_only=True):
    """A page of workers; `next` and `nextCursor` are the cursor of the one after."""

    items: list[WorkerView]
    next: str | None = None
    next_cursor: str | None = None


class CommandBody(Wire, frozen=True, kw_only=True):
    """A command; which fields count depends on its type."""

    type: str
    name: str = ""
    version: str | None = None
    url: str | None = None
    sha256: str | None = None
    worker_id: str | None = None
    queue: str | None = None
    reason: str | None = None
    deadline_ms: int | None = None


class CommandRef(Wire, frozen=True, kw_only=True):
    command_id: str
    worker_id: str
    worker_name: str
    accepted_at: str


class RebindBody(Wire, frozen=True, kw_only=True):
    worker_id: str | None = None
    reason: str | None = None


class ReboundView(Wire, frozen=True, kw_only=True):
    run_id: str
    worker_id: str | None
    was: dict[str, str]
    """Where each package was executed until now."""
    accepted_at: str


class BindingView(Wire, frozen=True, kw_only=True):
    """The worker that executes a package's tasks in a run."""

    run_id: str
    package: str
    worker_id: str
    worker_name: str
    bound_at: str


class BindingList(Wire, frozen=True, kw_only=True):
    items: list[BindingView]
    next_cursor: str | None = None


class AnnouncedView(Wire, frozen=True, kw_only=True):
    """What a worker that announces itself over HTTP is told."""

    worker_id: str
    state: str
    tenant: str
    link: str
    """Where its WebSocket goes."""
    heartbeat_s: float

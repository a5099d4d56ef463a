"""Bodies and views of the paths about workers on the link."""

from typing import Any

from windlass.protocol.exchange import Wire


class WorkerPackage(Wire, frozen=True, kw_only=True):
    name: str
    version: str
    status: str


class WorkerMeta(Wire, frozen=True, kw_only=True):
    """What a worker said of itself."""

    hostname: str = ""
    version: str = ""
    instance_id: str = ""
    tenant: str = ""
    capabilities: dict[str, Any] | None = None
    heartbeat: dict[str, Any] | None = None
    payload_types: list[str] = []
    channels: list[str] = []


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


class AnnouncedView(Wire, frozen=True, kw_only=True):
    """What a worker that announces itself over HTTP is told."""

    worker_id: str
    state: str
    tenant: str
    link: str
    """Where its WebSocket goes."""
    heartbeat_s: float

"""What the server says of environments, as in `shapes`."""

from typing import Any

from windlass.client.shapes import Shape


class EnvResourceInfo(Shape, frozen=True, kw_only=True):
    """What places of an environment are, and how many there may be at once."""

    id: str
    name: str
    kind: str
    capacity: int
    config: dict[str, Any] = {}
    metadata: dict[str, Any] = {}
    status: str
    in_use: int
    waiting: int
    missing: str = ""
    """Why there can be none just now, and what to do about it."""
    created_at: int
    created_by: str = ""
    changed_at: int


class EnvFilesInfo(Shape, frozen=True, kw_only=True):
    """Which files of a place are others than when it was made."""

    added: list[str] = []
    changed: list[str] = []
    removed: list[str] = []
    more: int = 0


class EnvSnapshotInfo(Shape, frozen=True, kw_only=True):
    """What was in a place at a time."""

    id: str
    session_id: str
    attempt_id: str = ""
    kind: str
    ref: str
    digest: str
    size_bytes: int = 0
    created_at: int
    files: EnvFilesInfo | None = None


class EnvSessionInfo(Shape, frozen=True, kw_only=True):
    """A place while it belongs to a task."""

    id: str
    resource: str
    kind: str
    state: str
    run_id: str
    task_id: str
    attempt_id: str = ""
    epoch: int
    host: str = ""
    place: str
    details: dict[str, Any] = {}
    reason: str = ""
    expires_at: int | None = None
    created_at: int
    committed_at: int | None = None
    released_at: int | None = None
    drift: str = "unknown"
    snapshots: list[EnvSnapshotInfo] = []


class EnvExecuted(Shape, frozen=True, kw_only=True):
    """How a command ended, and what it said."""

    code: int
    out: bytes = b""
    err: bytes = b""
    cut: bool = False
    timed_out: bool = False


class EnvKindInfo(Shape, frozen=True, kw_only=True):
    kind: str
    hosts: list[str]
    missing: str = ""


class EnvImageInfo(Shape, frozen=True, kw_only=True):
    """A container image that is pulled or built."""

    id: str
    name: str
    source_type: str
    image_ref: str
    dockerfile: str = ""
    metadata: dict[str, Any] = {}
    status: str
    digest: str = ""
    host: str = ""
    log: str = ""
    error: str = ""
    created_at: int
    created_by: str = ""
    changed_at: int = 0

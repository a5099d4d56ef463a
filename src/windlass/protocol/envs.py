"""What the API, and workers, say of environments."""

from typing import Annotated, Any

from msgspec import Meta, json

from windlass.model.envs import EnvSnapshot
from windlass.protocol.exchange import Wire
from windlass.protocol.reasons_api import ReasonView

EXEC_S_MAX = 3_600.0
_Seconds = Annotated[float, Meta(gt=0, le=EXEC_S_MAX)]
_Command = Annotated[list[str], Meta(min_length=1, max_length=1_000)]
_Path = Annotated[str, Meta(min_length=1, max_length=4_096)]


# From attempts


class OfAttempt(Wire, frozen=True, kw_only=True):
    """Who asks: an attempt, with the proof that it was leased to its worker."""

    attempt_id: str
    token: str | int
    call_id: str
    """The same call is the same action in the ledger, however often it is said."""


class EnvExec(OfAttempt, frozen=True, kw_only=True, omit_defaults=True):
    command: _Command
    stdin: bytes = b""
    workdir: str = ""
    env: dict[str, str] = {}
    timeout_s: _Seconds = 60.0


class EnvExecuted(Wire, frozen=True, kw_only=True):
    code: int
    out: bytes
    err: bytes
    cut: bool = False
    """Whether it said more than is kept."""
    timed_out: bool = False


class EnvRead(OfAttempt, frozen=True, kw_only=True):
    path: _Path


class EnvContent(Wire, frozen=True, kw_only=True):
    data: bytes


class EnvWrite(OfAttempt, frozen=True, kw_only=True):
    path: _Path
    data: bytes


class EnvMark(OfAttempt, frozen=True, kw_only=True):
    """Take a snapshot, or open the door to a browser."""


class EnvDoor(Wire, frozen=True, kw_only=True):
    """Where a browser is reached while its lease lasts."""

    path: str
    """Of a WebSocket on this server that speaks Chrome's DevTools protocol."""


# For people


class EnvResourceBody(Wire, frozen=True, kw_only=True):
    name: str
    kind: str
    capacity: int = 1
    config: dict[str, Any] = {}
    metadata: dict[str, Any] = {}
    status: str = "active"


class EnvResourcePatch(Wire, frozen=True, kw_only=True):
    """Only what is named changes."""

    capacity: int | None = None
    config: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None
    status: str | None = None


class EnvResourceView(Wire, frozen=True, kw_only=True):
    id: str
    name: str
    kind: str
    capacity: int
    config: dict[str, Any]
    metadata: dict[str, Any]
    status: str
    in_use: int
    """Sessions there are of it."""
    waiting: int
    """Tasks that wait for one."""
    missing: str
    """Why there can be none just now, and what to do about it; empty if there can."""
    lacks: ReasonView | None = None
    """The same as a code with values."""
    created_at: int
    created_by: str
    changed_at: int


class EnvFiles(Wire, frozen=True, kw_only=True):
    """Which files of a place are others than when it was made, by their paths; some at most."""

    added: list[str] = []
    changed: list[str] = []
    removed: list[str] = []
    more: int = 0
    """How many there are besides those that are named."""


_files = json.Decoder(EnvFiles)


class EnvSnapshotView(Wire, frozen=True, kw_only=True):
    id: str
    session_id: str
    attempt_id: str
    kind: str
    ref: str
    digest: str
    size_bytes: int
    created_at: int
    files: EnvFiles | None = None
    """What changed since the place was made; null where nothing did, or its runtime cannot tell."""


def snapshot_view(row: EnvSnapshot) -> EnvSnapshotView:
    return EnvSnapshotView(
        id=row.id,
        session_id=row.session_id,
        attempt_id=row.attempt_id,
        kind=row.kind,
        ref=row.ref,
        digest=row.digest,
        size_bytes=row.size_bytes,
        created_at=row.created_at,
        files=_files.decode(row.files) if row.files else None,
    )


class EnvSessionView(Wire, frozen=True, kw_only=True):
    id: str
    resource: str
    kind: str
    state: str
    run_id: str
    task_id: str
    attempt_id: str
    epoch: int
    host: str
    place: str
    """What the runtime calls it."""
    details: dict[str, Any]
    reason: str
    expires_at: int | None
    created_at: int
    committed_at: int | None
    released_at: int | None
    drift: str
    """`unchanged`, `changed`, or `unknown` while there are not two snapshots to compare."""
    snapshots: list[EnvSnapshotView] = []


class EnvReleaseBody(Wire, frozen=True, kw_only=True):
    reason: str = ""


class EnvExecBody(Wire, frozen=True, kw_only=True):
    """What an operator runs in a place, beside whatever happens there."""

    command: _Command
    stdin: bytes = b""
    workdir: str = ""
    env: dict[str, str] = {}
    timeout_s: _Seconds = 60.0


class EnvKindView(Wire, frozen=True, kw_only=True):
    """A kind of runtime: whether anybody here has it."""

    kind: str
    hosts: list[str]
    missing: str
    """Why there can be no places of it just now, and what to do about it; empty if there can."""
    lacks: ReasonView | None = None
    """The same as a code with values."""


class EnvImageBody(Wire, frozen=True, kw_only=True):
    """An image to be pulled (`registry`) or built (`dockerfile`)."""

    name: str
    source_type: str = "registry"
    image_ref: str = ""
    dockerfile: str = ""
    metadata: dict[str, Any] = {}


class EnvImageView(Wire, frozen=True, kw_only=True):
    id: str
    name: str
    source_type: str
    image_ref: str
    """What a container's config names."""
    dockerfile: str
    metadata: dict[str, Any]
    status: str
    digest: str
    host: str
    log: str
    error: str
    created_at: int
    created_by: str
    changed_at: int

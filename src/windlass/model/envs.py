"""Environments: places that tasks are done in, each leased to one task at a time.

A *resource* says what a place is and how many of it there may be; a *session* is one place while it
belongs to a task. A session is a row of its task's run: it is reserved, bound to attempts, held and
given back by decisions of the kernel, so it can be in no other state than its task is. Runtimes
only follow (`ports.env`). While an attempt has a session, the attempt's lease is the session's.
"""

from collections.abc import Mapping
from enum import StrEnum
from hashlib import blake2b
from typing import ClassVar

from windlass.model.rows import Json, Row

ALLOCATE, HOLD, RELEASE = "env.allocate", "env.hold", "env.release"
"""Effects that whoever has the runtime carries out."""
KINDS = ("container", "browser", "desktop", "phone", "other", "noop")
NAME_CHARS_MAX = 100


class EnvState(StrEnum):
    RESERVED = "reserved"
    """It has its place among its resource's, and is being made."""
    COMMITTED = "committed"
    """It is there: an attempt has it, or the next one gets it."""
    HELD = "held"
    """A person is asked something; the next attempt goes on in it."""
    KEPT = "kept"
    """Its task failed, and somebody may want to look."""
    RELEASING = "releasing"
    RELEASED = "released"


ENV_OVER = frozenset({EnvState.RELEASING, EnvState.RELEASED})
"""Nobody may use it any more."""


class EnvResource(Row, frozen=True, kw_only=True):
    TABLE = "env_resources"
    FIXED = frozenset({"tenant", "name", "kind", "created_at", "created_by"})
    id: str
    tenant: str
    name: str
    kind: str
    capacity: int = 1
    """How many sessions of it there may be at once."""
    config: Json = "{}"
    metadata: Json = "{}"
    status: str = "active"
    """`active`, `disabled` (sessions end, none begin) or `archived`."""
    created_at: int
    created_by: str = ""
    changed_at: int = 0


class EnvSession(Row, frozen=True, kw_only=True):
    TABLE = "env_sessions"
    FIXED = frozenset(
        {"run_id", "task_id", "tenant", "resource_id", "resource", "kind", "limits", "created_at"}
    )
    id: str
    run_id: str
    task_id: str
    tenant: str
    resource_id: str
    resource: str
    """The resource's name."""
    kind: str
    state: EnvState
    epoch: int = 1
    """Tells the attempts that had it apart: the latest one's counts."""
    attempt_id: str = ""
    """The attempt that has it, or had it last."""
    host: str = ""
    """Who has the runtime it is in."""
    details: Json = "{}"
    limits: Json = ""
    """What it holds while it is there: a place among its resource's."""
    reason: str = ""
    """Why it was given back."""
    expires_at: int | None = None
    """When it is given back if nothing happens; None while something else decides that."""
    created_at: int
    committed_at: int | None = None
    released_at: int | None = None

    @property
    def bound(self) -> bool:
        """Whether an attempt has had it."""
        return bool(self.attempt_id)


FIRST = "pre_action"
"""The kind of the snapshot that is taken before anybody is in a place."""


class EnvSnapshot(Row, frozen=True, kw_only=True):
    """What was in a place at a time."""

    TABLE = "env_snapshots"
    UPSERT = True
    id: str
    session_id: str
    run_id: str
    attempt_id: str
    kind: str
    """`pre_action`, `post_action`, `checkpoint` or `manual`."""
    ref: str
    digest: str
    size_bytes: int = 0
    created_at: int
    files: Json = ""
    """Which of its files are others than when the place was made; empty where nobody can tell."""


ENVS_KEY = "envs"
"""The key all sessions of a tenant share, where a rule is about them: its quota."""


def env_key(resource: str) -> str:
    """The limit that says how many sessions of a resource there may be."""
    return f"env:{resource}"


def is_env_key(key: str) -> bool:
    """Whether a limit is about the places of one resource."""
    return key.startswith(env_key(""))


def resource_id(tenant: str, name: str) -> str:
    """A tenant's resource: the kernel finds it by the name a definition has."""
    return f"{tenant}:{name}"


def env_session_id(task_id: str, seq: int) -> str:
    """A session of a task, made by the run's event with this number."""
    return f"{task_id}!env{seq}"


def place_name(session_id: str) -> str:
    """What a session's place is called in its runtime, also after everything was restarted."""
    return f"windlass-{blake2b(session_id.encode(), digest_size=10).hexdigest()}"


def kind_address(kind: str) -> str:
    """For effects that anybody with such a runtime can do."""
    return f"env:{kind}"


def host_address(host: str) -> str:
    """For effects that only the one with a certain runtime can do."""
    return f"env@{host}"


IMAGE = "env.image"
"""The effect of making an image ready."""
IMAGES = "images"
"""What hosts call it that they can pull and build."""


class EnvImage(Row, frozen=True, kw_only=True):
    """A container image that is pulled, or built from a Dockerfile."""

    TABLE = "env_images"
    FIXED = frozenset({"tenant", "name", "source", "dockerfile", "created_at", "created_by"})
    HEAVY: ClassVar[Mapping[str, str]] = {"dockerfile": "''", "log": "''"}
    id: str
    tenant: str
    name: str
    source: str
    """`registry` or `dockerfile`."""
    ref: str
    """What a container's config names; of a Dockerfile, what it is built as."""
    dockerfile: str = ""
    metadata: Json = "{}"
    status: str = "pending"
    """`pending`, `building`, `ready`, `failed` or `archived`."""
    digest: str = ""
    host: str = ""
    """Who has it."""
    log: str = ""
    error: str = ""
    created_at: int
    created_by: str = ""
    changed_at: int = 0

"""What a worker knows of one resource, and how others hear of it."""

from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

import msgspec


class State(StrEnum):
    ACTIVE = "active"
    EVICTING = "evicting"
    """To go as soon as the last lease is released."""
    EVICTED = "evicted"


class Backend(StrEnum):
    """Where a resource is: on disk, in a host's memory, or somewhere the worker cannot see."""

    FILE = "file"
    OBJECT = "object"
    NONE = "none"


class Handle(msgspec.Struct, kw_only=True):
    resource_id: str
    type: str
    worker_id: str
    backend: Backend = Backend.NONE
    scope: str = ""
    state: State = State.ACTIVE
    path: str | None = None
    metadata: dict[str, Any] = {}
    size_bytes: int | None = None
    created_at: float = 0.0
    used_at: float = 0.0
    expires_at: float | None = None
    ttl_s: float | None = None
    """How long it may lie idle; each use pushes `expires_at` this far."""
    in_use: int = 0
    owner: str = ""
    """The host that has the object in its memory."""

    @property
    def is_active(self) -> bool:
        return self.state is State.ACTIVE

    def is_expired(self, now: float) -> bool:
        return self.expires_at is not None and now >= self.expires_at

    def used(self, now: float) -> None:
        self.used_at = now
        if self.ttl_s is not None:
            self.expires_at = now + self.ttl_s

    def ref(self) -> dict[str, Any]:
        """How results and parameters point to it."""
        return {
            "resourceId": self.resource_id,
            "workerId": self.worker_id,
            "type": self.type,
            "scope": self.scope,
        }

    def artifact(self, *, inline: bool | None = None) -> dict[str, Any]:
        """How a result's list of artifacts names it."""
        found: dict[str, Any] = {
            "resource_id": self.resource_id,
            "worker_id": self.worker_id,
            "type": self.type,
        }
        if self.size_bytes is not None:
            found["size_bytes"] = self.size_bytes
        if inline is not None:
            found["inline"] = inline
        if self.expires_at is not None:
            found["expires_at"] = datetime.fromtimestamp(self.expires_at, UTC).isoformat()
        if self.metadata:
            found["metadata"] = self.metadata
        return found

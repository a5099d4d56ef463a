"""The worker's resources, as a handler sees them, and the objects that live in this process."""

import asyncio
import datetime
import inspect
import logging
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from windlass.worker.adapters.host.ask import Ask

log = logging.getLogger("windlass.host")

CLOSE_S_MAX = 5.0


class ResourceHandle:
    """What is known of one resource."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self.resource_id: str = fields["resource_id"]
        self.worker_id: str = fields.get("worker_id", "")
        self.type: str = fields["type"]
        self.scope: str | None = fields.get("scope")
        self.state: str = fields.get("state", "active")
        self.path = Path(fields["path"]) if fields.get("path") else None
        self.metadata: dict[str, Any] = fields.get("metadata") or {}
        self.size_bytes: int | None = fields.get("size_bytes")
        self.created_at = _time(fields.get("created_at"))
        self.expires_at = _time(fields.get("expires_at"))
        self.in_use: int = fields.get("in_use", 0)

    @property
    def ref(self) -> dict[str, Any]:
        """How results and parameters point to it."""
        return {
            "resourceId": self.resource_id,
            "workerId": self.worker_id,
            "type": self.type,
            "scope": self.scope,
        }

    def is_expired(self, now: datetime.datetime | None = None) -> bool:
        now = now or datetime.datetime.now(datetime.UTC)
        return self.expires_at is not None and now >= self.expires_at


class Objects:
    """Objects that calls of one package share, kept until their resource is let go."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[Any, Callable[[Any], Any] | None]] = {}
        self._closing: set[asyncio.Task[None]] = set()

    def put(self, resource_id: str, value: Any, close: Callable[[Any], Any] | None) -> None:
        self._kept[resource_id] = (value, close)

    def get(self, resource_id: str) -> Any:
        if resource_id not in self._kept:
            raise KeyError(f"resource {resource_id} is not in this process any more")
        return self._kept[resource_id][0]

    def drop(self, resource_id: str) -> None:
        """Let an object go and close it; must be called on the loop."""
        found = self._kept.pop(resource_id, None)
        if found is not None:
            task = asyncio.get_running_loop().create_task(_close(resource_id, *found))
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    async def close(self) -> None:
        """Close everything, for as long as is reasonable."""
        for resource_id in list(self._kept):
            self.drop(resource_id)
        if self._closing:
            await asyncio.wait(list(self._closing), timeout=CLOSE_S_MAX)


async def _close(resource_id: str, value: Any, close: Callable[[Any], Any] | None) -> None:
    try:
        done = close(value) if close is not None else None
        if inspect.isawaitable(done):
            async with asyncio.timeout(CLOSE_S_MAX):
                await done
    except Exception:
        log.exception("closing resource %s failed", resource_id)


class ResourceRegistry:
    """Resources of this worker; those of a call belong to its run unless it says otherwise."""

    def __init__(
        self, ask: Ask, objects: Objects, worker: str, base_dir: Path, run_id: str
    ) -> None:
        self.worker_id = self.worker_name = worker
        self.base_dir = base_dir
        self._ask = ask
        self._objects = objects
        self._run_id = run_id

    def register(
        self,
        *,
        resource_type: str,
        resource_id: str | None = None,
        scope: str | None = None,
        path: Path | str | None = None,
        metadata: dict[str, Any] | None = None,
        size_bytes: int | None = None,
        expires_at: datetime.datetime | float | None = None,
        ttl_s: float | None = None,
    ) -> ResourceHandle:
        """Make a resource known; the same id again replaces what was known."""
        return self._register(
            "register",
            resource_id,
            resource_type=resource_type,
            scope=scope or self._run_id,
            path=None if path is None else str(path),
            metadata=metadata or {},
            size_bytes=size_bytes,
            expires_at=_seconds(expires_at),
            ttl_s=ttl_s,
        )

    def register_file(
        self,
        *,
        file_path: Path | str,
        resource_id: str | None = None,
        scope: str | None = None,
        metadata: dict[str, Any] | None = None,
        expires_at: datetime.datetime | float | None = None,
        ttl_s: float | None = None,
    ) -> ResourceHandle:
        """Make a file known, with its size."""
        return self._register(
            "register_file",
            resource_id,
            path=str(Path(file_path).resolve()),
            scope=scope or self._run_id,
            metadata=metadata or {},
            expires_at=_seconds(expires_at),
            ttl_s=ttl_s,
        )

    def put_object(
        self,
        value: Any,
        *,
        resource_type: str,
        resource_id: str | None = None,
        scope: str | None = None,
        metadata: dict[str, Any] | None = None,
        size_bytes: int | None = None,
        ttl_s: float | None = None,
        close: Callable[[Any], Any] | None = None,
    ) -> ResourceHandle:
        """Keep an object in this process for later calls; `close` gets it when it is let go."""
        found = resource_id or uuid.uuid4().hex
        self._objects.put(found, value, close)
        return self._register(
            "register_object",
            found,
            resource_type=resource_type,
            scope=scope or self._run_id,
            metadata=metadata or {},
            size_bytes=size_bytes,
            ttl_s=ttl_s,
        )

    def get_object(self, resource_id: str) -> Any:
        """An object kept by an earlier call; KeyError if it was let go."""
        found = self._objects.get(resource_id)
        self.touch(resource_id)
        return found

    def lease(self, resource_id: str) -> ResourceHandle:
        return ResourceHandle(self._ask("lease", resource_id=resource_id))

    def release(self, resource_id: str, *, reason: str | None = None) -> None:
        self._ask("release", resource_id=resource_id, reason=reason)

    def touch(
        self, resource_id: str, *, expires_at: datetime.datetime | float | None = None
    ) -> None:
        """Note that a resource is of use still, and perhaps until when."""
        self._ask("touch", resource_id=resource_id, expires_at=_seconds(expires_at))

    def release_scope(self, scope: str) -> None:
        self._ask("release_scope", scope=scope)

    def gc(self) -> list[str]:
        found: list[str] = self._ask("gc")
        return found

    def list(
        self, *, scope: str | None = None, resource_type: str | None = None
    ) -> "list[ResourceHandle]":
        found = self._ask("list", scope=scope, resource_type=resource_type)
        return [ResourceHandle(fields) for fields in found]

    def to_artifact_descriptor(
        self, resource_id: str, *, inline: bool | None = None
    ) -> dict[str, Any]:
        """How a result names a resource it leaves behind."""
        found: dict[str, Any] = self._ask("artifact", resource_id=resource_id, inline=inline)
        return found

    def _register(self, op: str, resource_id: str | None, **fields: Any) -> ResourceHandle:
        found = resource_id or uuid.uuid4().hex
        return ResourceHandle(self._ask(op, resource_id=found, **fields))


def _seconds(at: datetime.datetime | float | None) -> float | None:
    return at.timestamp() if isinstance(at, datetime.datetime) else at


def _time(at: float | None) -> datetime.datetime | None:
    return None if at is None else datetime.datetime.fromtimestamp(at, datetime.UTC)

"""The registry of a worker's resources: who may use them, how long they stay, what goes first.

A resource that is leased is never evicted; it is marked, and goes with its last lease. Eviction
follows expiry first, then the watermarks of disk and memory, least recently used first.
"""

import shutil
import threading
import time
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from windlass.model.errors import NotFound
from windlass.worker.adapters.host.places import run_dir, task_dir
from windlass.worker.resources.folders import untouched
from windlass.worker.resources.handles import Backend, Handle, State
from windlass.worker.resources.settings import ResourceSettings
from windlass.worker.resources.store import Store

LOW_WATER = 0.9
"""Eviction goes on to this share of a limit, so that it need not begin again at once."""

REMOVED = "removed"
"""Where folders go that are about to be deleted, below the data folder."""

MEMORY_S = 3600.0
"""How long it is remembered that a resource was evicted, to say so to whoever asks for it."""


class ResourceMissing(NotFound):
    """A resource is not here, or not any more."""

    code = "E.RESOURCE.MISSING"


class Stats(msgspec.Struct, frozen=True, kw_only=True):
    """What heartbeats say about resources."""

    disk_bytes_in_use: int
    mem_bytes_in_use: int
    sessions_active: int
    eviction_candidates: int
    last_gc_seconds: float
    handles: int


class Resources:
    """All resources of one worker. Any thread may use it."""

    def __init__(self, settings: ResourceSettings, clock: Callable[[], float] = time.time) -> None:
        self.settings = settings
        self.on_evict: Callable[[Handle], None] = lambda _: None
        """Told about objects that must go from their host's memory."""
        self._clock = clock
        self._lock = threading.RLock()
        self._store = Store(settings.data_dir / "resources.db")
        self._last_gc_s = 0.0
        shutil.rmtree(settings.data_dir / REMOVED, ignore_errors=True)
        self._handles = {handle.resource_id: handle for handle in self._recovered()}

    def close(self) -> None:
        with self._lock:
            for handle in self._handles.values():
                self._store.save(handle)
            self._store.close()

    def register(
        self,
        resource_id: str,
        resource_type: str,
        *,
        scope: str = "",
        path: str | None = None,
        metadata: dict[str, Any] | None = None,
        size_bytes: int | None = None,
        expires_at: float | None = None,
        ttl_s: float | None = None,
        owner: str = "",
        backend: Backend = Backend.NONE,
    ) -> Handle:
        """Make a resource known; the same id again replaces what was known, but not its leases."""
        now = self._clock()
        idle_s = ttl_s if expires_at is None else None
        if idle_s is None and expires_at is None:
            idle_s = self.settings.ttl_s
        with self._lock:
            before = self._handles.get(resource_id)
            handle = Handle(
                resource_id=resource_id,
                type=resource_type,
                worker_id=self.settings.worker_id,
                backend=backend,
                scope=scope,
                path=path,
                metadata=dict(metadata or {}),
                size_bytes=size_bytes,
                created_at=now,
                used_at=now,
                expires_at=expires_at,
                ttl_s=idle_s,
                in_use=before.in_use if before is not None else 0,
                owner=owner,
            )
            handle.used(now)
            self._handles[resource_id] = handle
            self._store.save(handle)
            self._make_room(but=resource_id)
            return handle

    def register_file(
        self,
        resource_id: str,
        path: Path,
        *,
        resource_type: str = "file",
        metadata: dict[str, Any] | None = None,
        scope: str = "",
        expires_at: float | None = None,
        ttl_s: float | None = None,
    ) -> Handle:
        """Make a file known by its size and place; below the data folder it is ours to delete."""
        place = path.resolve()
        try:
            size = place.stat().st_size
        except OSError as error:
            raise ResourceMissing(f"no file {place}; write it before it is registered") from error
        known: dict[str, Any] = {"path": str(place), **(metadata or {})}
        if place.is_relative_to(self.settings.data_dir.resolve()):
            below = place.relative_to(self.settings.data_dir.resolve())
            known.setdefault("relative_path", str(below))
        return self.register(
            resource_id,
            resource_type,
            path=str(place),
            size_bytes=size,
            metadata=known,
            scope=scope,
            expires_at=expires_at,
            ttl_s=ttl_s,
            backend=Backend.FILE,
        )

    def lease(self, resource_id: str) -> Handle:
        """Keep a resource from being evicted until it is released."""
        with self._lock:
            handle = self._active(resource_id)
            handle.in_use += 1
            handle.used(self._clock())
            return handle

    def release(self, resource_id: str, reason: str | None = None) -> None:
        """Give a lease back; a resource that was to go, or goes for the reason, goes now."""
        with self._lock:
            handle = self._handles.get(resource_id)
            if handle is None or handle.state is State.EVICTED:
                return
            handle.in_use = max(0, handle.in_use - 1)
            handle.used(self._clock())
            if reason == "evicted":
                handle.state = State.EVICTING
            if handle.state is State.EVICTING and not handle.in_use:
                self._evict(handle)

    def touch(self, resource_id: str, expires_at: float | None = None) -> Handle:
        """Note that a resource is of use still, and perhaps until when."""
        with self._lock:
            handle = self._active(resource_id)
            if expires_at is not None:
                handle.ttl_s, handle.expires_at = None, expires_at
            handle.used(self._clock())
            self._store.save(handle)
            return handle

    def get(self, resource_id: str) -> Handle:
        with self._lock:
            return self._active(resource_id)

    def release_scope(self, scope: str) -> int:
        """Let everything of a run or session go, with the run's folder; how many went or will."""
        if not scope:
            return 0  # what has no scope outlives them all
        with self._lock:
            found = [h for h in self._handles.values() if h.scope == scope and h.is_active]
            for handle in found:
                self._let_go(handle)
            # Resolved, as the paths of resources are.
            folder = run_dir(self.settings.data_dir.resolve(), scope)
            in_use = any(handle.in_use for handle in found)
            aside = None if in_use or self._anything_in(folder) else self._move_aside(folder)
        if aside is not None:
            shutil.rmtree(aside, ignore_errors=True)
        return len(found)

    def expire_runs(self, in_flight: Collection[str]) -> list[str]:
        """Remove folders of runs nobody has touched for long, and whose end we were never told;
        their names. A run with a call in flight keeps its folder, and so does a resource."""
        data = self.settings.data_dir.resolve()
        kept = {run_dir(data, run_id) for run_id in in_flight}
        before = self._clock() - self.settings.run_folder_s
        gone: list[str] = []
        for folder in [*run_dir(data, "any").parent.glob("*")]:
            if folder in kept or not untouched(folder, before):
                continue
            with self._lock:
                aside = None if self._anything_in(folder) else self._move_aside(folder)
            if aside is not None:
                shutil.rmtree(aside, ignore_errors=True)
                gone.append(folder.name)
        return gone

    def _move_aside(self, folder: Path) -> Path | None:
        """Take a folder out of sight at once; its files may take longer, and hold nobody up."""
        removed = self.settings.data_dir.resolve() / REMOVED
        removed.mkdir(exist_ok=True)
        aside = removed / uuid.uuid4().hex
        try:
            folder.rename(aside)
        except OSError:
            return None  # there is none, or it cannot go now
        return aside

    def _anything_in(self, folder: Path) -> bool:
        """Whether a resource that outlives its run lies in the run's folder."""
        active = (handle for handle in self._handles.values() if handle.is_active)
        return any(handle.path and Path(handle.path).is_relative_to(folder) for handle in active)

    def outlive(self, resource_id: str) -> None:
        """A result names it: it stays for its time, whatever becomes of the run it was made in."""
        with self._lock:
            handle = self._handles.get(resource_id)
            if handle is not None and handle.is_active:
                handle.scope = ""
                self._store.save(handle)

    def drop_owner(self, owner: str) -> None:
        """A host is gone, and with it every object it had."""
        with self._lock:
            for handle in [*self._handles.values()]:
                if handle.owner == owner and handle.state is not State.EVICTED:
                    handle.owner = ""  # nobody is left to be told
                    self._evict(handle)

    def gc(self) -> list[str]:
        """Evict what has expired or is too much, and forget what went long ago."""
        started = time.perf_counter()
        with self._lock:
            now = self._clock()
            gone = [h for h in self._handles.values() if _is_idle(h) and h.is_expired(now)]
            for handle in gone:
                self._evict(handle)
            gone += self._make_room()
            self._forget(now - MEMORY_S)
            self._last_gc_s = time.perf_counter() - started
            return [handle.resource_id for handle in gone]

    def stats(self) -> Stats:
        with self._lock:
            active = [handle for handle in self._handles.values() if handle.is_active]
            objects = [handle for handle in active if handle.backend is Backend.OBJECT]
            return Stats(
                disk_bytes_in_use=_size(h for h in active if h.backend is Backend.FILE),
                mem_bytes_in_use=_size(objects),
                sessions_active=len(objects),
                eviction_candidates=sum(not handle.in_use for handle in active),
                last_gc_seconds=self._last_gc_s,
                handles=len(active),
            )

    def keep_result(self, run_id: str, task_id: str, result: bytes) -> Handle:
        """Put a result that is too large to travel into a file of its task."""
        folder = task_dir(self.settings.data_dir, run_id, task_id)
        folder.mkdir(parents=True, exist_ok=True)
        resource_id = f"result-{uuid.uuid4().hex}"
        path = folder / f"{resource_id}.json"
        path.write_bytes(result)
        metadata = {"mimeType": "application/json", "taskId": task_id}
        return self.register_file(resource_id, path, scope=run_id, metadata=metadata)

    def _recovered(self) -> Iterator[Handle]:
        """What the last worker here left: files that are there still, and the memory of others."""
        for handle in self._store.load(self.settings.worker_id):
            here = handle.backend is Backend.FILE and handle.path and Path(handle.path).is_file()
            if handle.state is not State.EVICTED and not here:
                handle.state = State.EVICTED
                self._store.save(handle)
            elif handle.state is State.EVICTING:
                handle.state = State.ACTIVE  # whoever leased it is gone; it expires like others
            yield handle

    def _active(self, resource_id: str) -> Handle:
        handle = self._handles.get(resource_id)
        if handle is None:
            raise ResourceMissing(f'resource "{resource_id}" is not on this worker')
        if handle.state is State.EVICTED:
            raise ResourceMissing(f'resource "{resource_id}" was evicted; make it again')
        return handle

    def _let_go(self, handle: Handle) -> None:
        if handle.in_use:
            handle.state = State.EVICTING
            self._store.save(handle)
        else:
            self._evict(handle)

    def _evict(self, handle: Handle) -> None:
        handle.state = State.EVICTED
        handle.used_at = self._clock()
        self._store.save(handle)
        if handle.backend is Backend.OBJECT and handle.owner:
            self.on_evict(handle)
        if handle.backend is Backend.FILE and handle.path is not None:
            place = Path(handle.path)
            # Files elsewhere were lent to us; only our own are ours to delete.
            if place.is_relative_to(self.settings.data_dir.resolve()):
                place.unlink(missing_ok=True)

    def _make_room(self, but: str = "") -> list[Handle]:
        gone: list[Handle] = []
        limits = (
            (Backend.FILE, self.settings.disk_bytes_max),
            (Backend.OBJECT, self.settings.mem_bytes_max),
        )
        for backend, limit in limits:
            if limit:
                gone += self._shrink(backend, limit, but)
        return gone

    def _shrink(self, backend: Backend, limit: int, but: str) -> list[Handle]:
        """Evict the least recently used of one kind until it is below its low water."""
        kept = [h for h in self._handles.values() if h.is_active and h.backend is backend]
        excess = _size(kept)
        if excess <= limit:
            return []
        gone: list[Handle] = []
        for handle in sorted(kept, key=lambda handle: handle.used_at):
            if excess <= limit * LOW_WATER:
                break
            if _is_idle(handle) and handle.size_bytes and handle.resource_id != but:
                self._evict(handle)
                excess -= handle.size_bytes
                gone.append(handle)
        return gone

    def _forget(self, before: float) -> None:
        self._store.forget(before)
        for handle in [*self._handles.values()]:
            if handle.state is State.EVICTED and handle.used_at < before:
                del self._handles[handle.resource_id]

    def list(self, scope: str | None = None, resource_type: str | None = None) -> list[Handle]:
        with self._lock:
            return [
                handle
                for handle in self._handles.values()
                if handle.is_active
                and (scope is None or handle.scope == scope)
                and (resource_type is None or handle.type == resource_type)
            ]


def _is_idle(handle: Handle) -> bool:
    return handle.is_active and not handle.in_use


def _size(handles: Iterable[Handle]) -> int:
    return sum(handle.size_bytes or 0 for handle in handles)

"""Objects with versions, and the log of their changes that watches read.

Every change takes the next resourceVersion, of one count for all kinds. The log keeps the newest
changes; a watch that begins before the oldest kept is told 410 Expired, as after a compaction.
"""

import threading
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec

from windlass.testing.kube.problems import ApiError, expired, not_found
from windlass.testing.kube.selectors import Matches

Json = dict[str, Any]
Key = tuple[str, str, str]
"""Kind, namespace and name."""

LOG_MAX = 50_000


@dataclass(frozen=True)
class Change:
    """One entry of the log: an object before and after, either of which may be missing."""

    version: int
    kind: str
    before: Json | None
    after: Json | None

    def as_seen_by(self, matches: Matches) -> tuple[str, bytes] | None:
        """The event for a watch with a selector: what leaves the selection is deleted for it."""
        was = self.before is not None and matches(self.before)
        is_ = self.after is not None and matches(self.after)
        if is_:
            return "MODIFIED" if was else "ADDED", self._after
        return ("DELETED", self._last) if was else None

    @cached_property
    def _after(self) -> bytes:
        return msgspec.json.encode(self.after)

    @cached_property
    def _last(self) -> bytes:
        """What is deleted is shown as it was, under the version of its deletion."""
        assert self.before is not None
        metadata = {**self.before["metadata"], "resourceVersion": str(self.version)}
        return msgspec.json.encode({**self.before, "metadata": metadata})


class Objects:
    """Everything the server holds; used from the server's thread and from tests alike."""

    def __init__(self, log_max: int = LOG_MAX) -> None:
        self.lock = threading.RLock()
        self._objects: dict[Key, Json] = {}
        self._log: list[Change] = []
        self._log_max = log_max
        self.version = 1
        self.oldest = 0
        """Watches from this version on can be served."""
        self.changed: Callable[[], None] = lambda: None

    def get(self, kind: str, namespace: str, name: str) -> Json:
        with self.lock:
            found = self._objects.get((kind, namespace, name))
        if found is None:
            raise not_found(kind, name)
        return found

    def has(self, kind: str, namespace: str, name: str) -> bool:
        return (kind, namespace, name) in self._objects

    def select(self, kind: str, namespace: str, matches: Matches) -> tuple[int, list[Json]]:
        """The objects of a namespace (or of all, ''), and the version they were seen at."""
        with self.lock:
            found = [
                item
                for (of, where, _), item in sorted(self._objects.items(), key=lambda pair: pair[0])
                if of == kind and namespace in ("", where) and matches(item)
            ]
            return self.version, found

    def create(self, kind: str, item: Json) -> Json:
        metadata = item["metadata"]
        key = (kind, metadata.get("namespace", ""), metadata["name"])
        with self.lock:
            if key in self._objects:
                name = metadata["name"]
                raise ApiError(409, "AlreadyExists", f'{kind} "{name}" already exists')
            return self._commit(key, item)

    def replace(self, kind: str, item: Json) -> Json:
        """Write an object; under an older version than the present one it is refused."""
        metadata = item["metadata"]
        key = (kind, metadata.get("namespace", ""), metadata["name"])
        with self.lock:
            present = self.get(*key)["metadata"]
            given = metadata.get("resourceVersion")
            if given and given != present["resourceVersion"]:
                message = f'Operation cannot be fulfilled on {kind} "{metadata["name"]}"'
                raise ApiError(409, "Conflict", f"{message}: the object has been modified")
            kept = {name: present[name] for name in ("uid", "creationTimestamp") if name in present}
            return self._commit(key, {**item, "metadata": {**metadata, **kept}})

    def remove(self, kind: str, namespace: str, name: str) -> Json:
        with self.lock:
            before = self.get(kind, namespace, name)
            del self._objects[kind, namespace, name]
            self.version += 1
            self._append(Change(self.version, kind, before, None))
            return before

    def since(self, version: int, kind: str, namespace: str) -> tuple[int, list[Change]]:
        """The changes after a version, and how far they reach."""
        with self.lock:
            if version < self.oldest:
                raise expired(version)
            begin = bisect_right(self._log, version, key=lambda change: change.version)
            return self.version, list(self._of(self._log[begin:], kind, namespace))

    def compact(self) -> None:
        """Forget the log, as etcd does: watches from before now are refused."""
        with self.lock:
            self.version += 1
            self._log.clear()
            self.oldest = self.version

    @staticmethod
    def _of(changes: list[Change], kind: str, namespace: str) -> Iterator[Change]:
        for change in changes:
            item = change.after or change.before
            assert item is not None
            where = item["metadata"].get("namespace", "")
            if change.kind == kind and namespace in ("", where):
                yield change

    def _commit(self, key: Key, item: Json) -> Json:
        self.version += 1
        metadata = {**item["metadata"], "resourceVersion": str(self.version)}
        after = {**item, "metadata": metadata}
        before = self._objects.get(key)
        self._objects[key] = after
        self._append(Change(self.version, key[0], before, after))
        return after

    def _append(self, change: Change) -> None:
        self._log.append(change)
        if len(self._log) > self._log_max:
            # Half at once: taking the front off a list costs its whole length.
            self.oldest = self._log[self._log_max // 2].version
            del self._log[: self._log_max // 2 + 1]
        self.changed()

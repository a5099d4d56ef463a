"""Lists, cut into pages that all show one moment."""

import uuid

import msgspec

from windlass.testing.kube.objects import Json, Objects
from windlass.testing.kube.problems import ApiError
from windlass.testing.kube.selectors import Matches

_OPEN_MAX = 100
_KINDS = {"pods": "PodList", "events": "EventList"}


class Pages:
    """What is left of lists that were begun; a compaction ends them."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._open: dict[str, tuple[int, list[Json]]] = {}

    def page(self, kind: str, namespace: str, matches: Matches, limit: int, token: str) -> bytes:
        if token:
            version, items = self._open.pop(token, (-1, []))
            if version < self._objects.oldest:
                message = "The provided continue parameter is too old"
                raise ApiError(410, "Expired", message)
        else:
            version, items = self._objects.select(kind, namespace, matches)
        metadata: Json = {"resourceVersion": str(version)}
        if limit and len(items) > limit:
            items, rest = items[:limit], items[limit:]
            metadata |= {"continue": uuid.uuid4().hex, "remainingItemCount": len(rest)}
            self._open[metadata["continue"]] = (version, rest)
            if len(self._open) > _OPEN_MAX:
                del self._open[next(iter(self._open))]
        # As the real one: items of a list say neither kind nor apiVersion.
        bare = [
            {key: value for key, value in item.items() if key not in ("kind", "apiVersion")}
            for item in items
        ]
        answer = {"kind": _KINDS[kind], "apiVersion": "v1", "metadata": metadata, "items": bare}
        return msgspec.json.encode(answer)

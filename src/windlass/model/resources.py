"""Resources that workers keep, as values name them: `{"resourceRef": {"resourceId": …}}`."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from windlass.model.rows import Json
from windlass.model.values import is_list, is_object


class ResourceName(NamedTuple):
    """A resource and the worker that keeps it."""

    id: str
    worker_id: str
    type: str


class ConflictingPins(Exception):
    """Resources of more than one worker are needed at once."""

    def __init__(self, workers: set[str]) -> None:
        super().__init__(f"its resources are on different workers: {', '.join(sorted(workers))}")


def resources_in(text: Json | None) -> list[ResourceName]:
    """All resources a JSON text names. Texts without any, the common case, are not parsed."""
    if text is None or '"resource' not in text:
        return []
    return list(_names(msgspec.json.decode(text)))


def resource_owner(text: Json | None) -> str | None:
    """The worker that has the resources an input names; None when it names none."""
    owners = {name.worker_id for name in resources_in(text)}
    if len(owners) > 1:
        raise ConflictingPins(owners)
    return owners.pop() if owners else None


def _names(value: Any) -> Iterator[ResourceName]:
    if is_object(value):
        for key, part in value.items():
            if key in ("resourceRef", "resource_ref") and is_object(part):
                yield from _name(part)
            else:
                yield from _names(part)
    elif is_list(value):
        for part in value:
            yield from _names(part)


def _name(part: dict[str, Any]) -> Iterator[ResourceName]:
    def text(*keys: str) -> str:
        return next((part[key] for key in keys if isinstance(part.get(key), str)), "")

    owner = text("workerId", "workerName", "worker_id", "worker_name")
    id_ = text("resourceId", "resource_id")
    if owner and id_:
        yield ResourceName(id_, owner, text("type") or "object")

"""Resources a call needs: found in its references, leased while it runs, named in its artifacts."""

import logging
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import Any

import msgspec

from windlass.model.values import is_list, is_object
from windlass.worker.resources.handles import Handle
from windlass.worker.resources.registry import ResourceMissing, Resources

log = logging.getLogger(__name__)

_MARK = b'"resourceRef"'
_SPELLINGS = {
    "resourceId": "resource_id",
    "workerId": "worker_id",
    "workerName": "worker_id",
    "worker_name": "worker_id",
    "sizeBytes": "size_bytes",
    "expiresAt": "expires_at",
}


def normal(ref: dict[str, Any]) -> dict[str, Any]:
    """A reference or artifact in one spelling; both travel."""
    return {_SPELLINGS.get(key, key): item for key, item in ref.items()}


def refs_in(parameters: msgspec.Raw) -> list[dict[str, Any]]:
    """References anywhere in parameters; most have none, and are not even decoded."""
    if _MARK not in bytes(parameters):
        return []
    found: list[dict[str, Any]] = []
    stack: list[object] = [msgspec.json.decode(parameters)]
    while stack:
        value = stack.pop()
        if is_object(value):
            ref = value.get("resourceRef")
            if is_object(ref):
                found.append(ref)
            stack.extend(item for key, item in value.items() if key != "resourceRef")
        elif is_list(value):
            stack.extend(value)
    return found


@contextmanager
def leased(resources: Resources, refs: Iterable[dict[str, Any]]) -> Generator[list[Handle]]:
    """Lease what the references name; ResourceMissing if any is not on this worker."""
    handles: dict[str, Handle] = {}
    worker_id = resources.settings.worker_id
    try:
        for given in refs:
            ref = normal(given)
            resource_id = str(ref.get("resource_id", ""))
            owner = ref.get("worker_id") or worker_id
            if owner != worker_id:
                text = f'resource "{resource_id}" is on worker "{owner}", and this is "{worker_id}"'
                raise ResourceMissing(text)
            if resource_id not in handles:
                handles[resource_id] = resources.lease(resource_id)
        yield list(handles.values())
    finally:
        for resource_id in handles:
            resources.release(resource_id)


def normal_artifacts(artifacts: list[dict[str, Any]], worker_id: str) -> list[dict[str, Any]]:
    """Artifacts in the spelling of the wire; one without an id or type helps nobody."""
    found: list[dict[str, Any]] = []
    for given in artifacts:
        artifact = {"worker_id": worker_id, **normal(given)}
        if artifact.get("resource_id") and artifact.get("type"):
            found.append(artifact)
        else:
            log.warning("an artifact without id or type is left out: %s", given)
    return found

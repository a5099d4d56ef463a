"""Input manifests: what an attempt was given when it was leased, and one hash over all of it.

Inputs change by hints, the blackboard by everybody; what this very attempt had before it is told by
its manifest, whatever has happened since. Two attempts with the same hash were given the same.
"""

from hashlib import sha256
from typing import Any

import msgspec

from windlass.model.rows import Json
from windlass.model.values import is_object

_ENV = ("resource_name", "kind", "session_id", "lease_epoch")
"""What an environment is told by; how it is reached is no part of what was given."""
_ARTIFACT = ("kind", "uri", "version", "digest")


class InputManifest(msgspec.Struct, frozen=True, omit_defaults=True):
    """What an attempt was given."""

    hash: str
    """Of everything below and the task's id, as normal JSON: SHA-256."""
    inputs: Any = None
    blackboard: list[dict[str, Any]] = []
    """The keys and their revisions that its brief speaks of."""
    artifacts: list[dict[str, Any]] = []
    """What the tasks before it made, each with its version and digest."""
    env: dict[str, Any] | None = None

    def json(self) -> Json:
        return msgspec.json.encode(self).decode()


def manifest_of(brief: dict[str, Any]) -> InputManifest:
    """The manifest of an attempt with this brief."""
    told = brief["env"]
    env = {name: told.get(name) for name in _ENV} if is_object(told) else None
    found = [
        {"task_id": before["task_id"], **{name: made.get(name) for name in _ARTIFACT}}
        for before in brief["predecessors"]
        for made in before.get("artifacts") or ()
    ]
    given = {
        "task_id": brief["task"]["id"],
        "inputs": brief["task"]["inputs"],
        "blackboard": brief["blackboard"],
        "artifacts": found,
        "env": env,
    }
    digest = sha256(msgspec.json.encode(given, order="sorted")).hexdigest()
    return InputManifest(digest, given["inputs"], brief["blackboard"], found, env)


def read_manifest(text: Json) -> InputManifest | None:
    return msgspec.json.decode(text, type=InputManifest) if text else None

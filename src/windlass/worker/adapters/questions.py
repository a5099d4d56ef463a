"""Answers the questions hosts put about resources."""

from pathlib import Path
from typing import Any

import msgspec

from windlass.worker.resources.handles import Backend, Handle
from windlass.worker.resources.registry import ResourceMissing, Resources


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """One question; each operation reads the fields it needs."""

    op: str
    resource_id: str = ""
    resource_type: str | None = None
    scope: str | None = None
    path: str | None = None
    metadata: dict[str, Any] = {}
    size_bytes: int | None = None
    expires_at: float | None = None
    ttl_s: float | None = None
    reason: str | None = None
    inline: bool | None = None


def answer(resources: Resources, owner: str, body: bytes) -> bytes:
    """The answer to a question, as JSON; whatever is wrong with it is told, never raised."""
    try:
        question = msgspec.json.decode(body, type=Question)
        return msgspec.json.encode({"value": _value(resources, owner, question)})
    except ResourceMissing as error:
        return msgspec.json.encode({"missing": str(error)})
    except (msgspec.MsgspecError, OSError, ValueError) as error:
        return msgspec.json.encode({"error": str(error)})


def _value(resources: Resources, owner: str, question: Question) -> object:
    resource_id = question.resource_id
    match question.op:
        case "register" | "register_file" | "register_object":
            return shown(_registered(resources, owner, question))
        case "lease":
            return shown(resources.lease(resource_id))
        case "release":
            resources.release(resource_id, question.reason)
            return None
        case "touch":
            return shown(resources.touch(resource_id, question.expires_at))
        case "release_scope":
            return resources.release_scope(question.scope or "")
        case "list":
            found = resources.list(question.scope, question.resource_type)
            return [shown(handle) for handle in found]
        case "gc":
            return resources.gc()
        case "artifact":
            return resources.get(resource_id).artifact(inline=question.inline)
        case _:
            raise ValueError(f'nothing here answers "{question.op}"')


def _registered(resources: Resources, owner: str, question: Question) -> Handle:
    kind = question.resource_type or "file"
    if question.op == "register_file" or (question.op == "register" and question.path):
        return resources.register_file(
            question.resource_id,
            Path(question.path or ""),
            resource_type=kind,
            metadata=question.metadata,
            scope=question.scope or "",
            expires_at=question.expires_at,
            ttl_s=question.ttl_s,
        )
    is_object = question.op == "register_object"
    return resources.register(
        question.resource_id,
        kind,
        scope=question.scope or "",
        metadata=question.metadata,
        size_bytes=question.size_bytes,
        expires_at=question.expires_at,
        ttl_s=question.ttl_s,
        owner=owner if is_object else "",
        backend=Backend.OBJECT if is_object else Backend.NONE,
    )


def shown(handle: Handle) -> dict[str, Any]:
    """A handle as hosts read it."""
    return {
        "resource_id": handle.resource_id,
        "worker_id": handle.worker_id,
        "type": handle.type,
        "scope": handle.scope,
        "state": handle.state,
        "path": handle.path,
        "metadata": handle.metadata,
        "size_bytes": handle.size_bytes,
        "created_at": handle.created_at,
        "expires_at": handle.expires_at,
        "in_use": handle.in_use,
    }

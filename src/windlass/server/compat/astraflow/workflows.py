"""Workflows somebody keeps to edit and run later, and what they look like."""

import asyncio
import secrets
from functools import partial
from hashlib import sha256
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from windlass.dialects.workflow import definition_hash
from windlass.engine import library, workflows
from windlass.engine.keys import Keyed
from windlass.model.errors import BadRequest, NotFound
from windlass.model.values import is_object
from windlass.protocol.exchange import Wire
from windlass.server.audit import line, note, version_line
from windlass.server.caller import engine_of
from windlass.server.context import context_of
from windlass.server.http import page_limit, parse_json, read_body, read_json, reply
from windlass.server.paging import cursor_text, like
from windlass.server.routes import Route

PAGE_MAX = 200
_PREVIEW_CHARS_MAX = 4_000_000


class WorkflowRef(Wire, frozen=True, kw_only=True):
    workflow_id: str
    version: int
    definition_hash: str


class WorkflowList(Wire, frozen=True, kw_only=True):
    items: list[msgspec.Raw]
    next_cursor: str | None = None


class Preview(Wire, frozen=True, kw_only=True):
    preview_image: str | None
    """Base64, or a data URL; None: there is none."""


async def keep(request: Request) -> Response:
    """Keep a workflow as a draft, which may name packages nobody has yet."""
    text = await read_body(request, context_of(request).body_bytes_max)
    definition = parse_json(text, dict[str, Any])
    key = request.headers.get("idempotency-key", "")
    keyed = Keyed(engine_of(request), "workflow", key, text)
    # Keeping the same again changes nothing, so only another body under the key matters.
    await keyed.earlier()
    along = partial(version_line, request, "workflow.keep", "workflow")
    done = await workflows.publish_workflow(engine_of(request), definition, draft=True, along=along)
    target = done.target
    view = WorkflowRef(workflow_id=target.flow_id, version=target.number, definition_hash=done.hash)
    await keyed.remember(target.version_id)
    headers = {"Location": f"/api/v1/workflows/{target.flow_id}"}
    return reply(view, 201 if done.created else 200, headers)


async def list_workflows(request: Request) -> Response:
    """Workflows by id, each as it was kept last; `q` is text in the name."""
    limit = page_limit(request, 50, PAGE_MAX)
    text = request.query_params.get("q")
    found = await library.list_workflows(
        engine_of(request),
        pattern=like(text) if text else "%",
        after=cursor_text(request),
        limit=limit + 1,
    )
    items = [msgspec.Raw(row.source.encode()) for row in found[:limit]]
    next_ = found[limit - 1].flow_id if len(found) > limit else None
    return reply(WorkflowList(items=items, next_cursor=next_))


async def get_workflow(request: Request) -> Response:
    """A workflow as it was kept last."""
    version = await library.get_workflow(engine_of(request), request.path_params["id"])
    return definition_reply(request, version.source)


def definition_reply(request: Request, source: str, digest: str = "") -> Response:
    """A definition under a weak ETag: its text may be spaced in other ways and mean the same."""
    digest = digest or definition_hash(msgspec.json.decode(source))
    etag = f'W/"sha256:{digest}"'
    headers = {"ETag": etag, "Cache-Control": "private, no-cache"}
    given = request.headers.get("if-none-match", "")
    if given.strip() == "*" or etag.removeprefix("W/") in given:
        return Response(status_code=304, headers=headers)
    return Response(source.encode(), headers=headers, media_type="application/json")


async def delete(request: Request) -> Response:
    """Delete a workflow; runs of it and their definitions stay."""
    workflow_id = request.path_params["id"].lower()
    await library.delete_workflow(
        engine_of(request),
        workflow_id,
        lambda count: line(request, "workflow.delete", "workflow", workflow_id, versions=count),
    )
    blobs = context_of(request).blobs
    await blobs.remove(preview_key(workflows.flow_id_of(engine_of(request), workflow_id)))
    return Response(status_code=204)


async def put_preview(request: Request) -> Response:
    """Keep a picture of a workflow, or (null) forget it."""
    body = await read_json(request, Preview)
    version = await library.get_workflow(engine_of(request), request.path_params["id"])
    blobs = context_of(request).blobs
    key = preview_key(version.flow_id)
    image = body.preview_image
    if image is not None and len(image) > _PREVIEW_CHARS_MAX:
        raise BadRequest(f"a preview has at most {_PREVIEW_CHARS_MAX} characters")
    if image is None:
        await blobs.remove(key)
    else:
        scratch = blobs.scratch(secrets.token_hex(16))
        await asyncio.to_thread(scratch.write_bytes, image.encode())
        await blobs.keep(key, scratch)
    await note(request, "workflow.preview", "workflow", version.flow_id)
    return reply(Preview(preview_image=image))


async def get_preview(request: Request) -> Response:
    """The picture of a workflow: as it was put, or as its definition brings it."""
    version = await library.get_workflow(engine_of(request), request.path_params["id"])
    blobs = context_of(request).blobs
    try:
        path = await blobs.path(preview_key(version.flow_id))
        image: object = (await asyncio.to_thread(path.read_bytes)).decode()
    except (NotFound, FileNotFoundError):  # the latter: forgotten since we looked
        definition = msgspec.json.decode(version.source)
        image = definition.get("previewImage") if is_object(definition) else None
    return reply(Preview(preview_image=image if isinstance(image, str) else None))


def preview_key(workflow_id: str) -> str:
    return f"previews/{sha256(workflow_id.encode()).hexdigest()}"


_AT = "/api/v1/workflows"
_ONE = _AT + "/{id}"
ROUTES = [
    Route("GET", _AT, list_workflows, gives=WorkflowList, query=("q", "limit", "cursor")),
    Route("POST", _AT, keep, "operator", dict[str, Any], WorkflowRef, 201),
    Route("GET", _ONE, get_workflow),
    Route("DELETE", _ONE, delete, "operator", status=204),
    Route("GET", f"{_ONE}/preview", get_preview, gives=Preview),
    Route("PUT", f"{_ONE}/preview", put_preview, "operator", Preview, Preview),
]

"""Files that come in parts, in any order, each as often as it takes."""

import asyncio
from functools import partial

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from windlass.engine import resources
from windlass.engine.engine import Engine
from windlass.model.errors import BadRequest, Conflict
from windlass.model.rows import Resource
from windlass.model.times import iso
from windlass.protocol.resources_api import (
    CompleteBody,
    PartView,
    ResourceView,
    UploadBody,
    UploadView,
)
from windlass.server.api.resources import (
    FILE_BYTES_MAX,
    check_visibility,
    file_line,
    find,
    resource_view,
)
from windlass.server.caller import engine_of, who
from windlass.server.context import context_of
from windlass.server.http import read_json, reply
from windlass.server.routes import Route
from windlass.server.uploads import receive_file

_STATUS = {"pending": "pending", "complete": "completed", "aborted": "aborted"}
_PROVIDERS = ("local", "db")


async def begin(request: Request) -> Response:
    """Open an upload: the file's name and size now, its parts later."""
    body = await read_json(request, UploadBody)
    if body.provider not in _PROVIDERS:
        raise BadRequest(f'no provider "{body.provider}"; there are {", ".join(_PROVIDERS)}')
    file = resources.Upload(
        filename=body.filename,
        size_bytes=body.size_bytes,
        mime_type=body.mime_type or "application/octet-stream",
        sha256=body.sha256 or "",
        chunk_bytes=body.chunk_size or 0,
        metadata=msgspec.json.encode(body.metadata or {}).decode(),
        visibility=check_visibility(body.visibility),
    )
    row = await resources.begin(
        engine_of(request),
        file,
        owner=who(request).name,
        bytes_max=FILE_BYTES_MAX,
        noted=partial(file_line, request, "resource.begin"),
    )
    return reply(await upload_view(request, row), 201)


async def get_upload(request: Request) -> Response:
    """How an upload stands: which parts have arrived."""
    return reply(await upload_view(request, await find_upload(request)))


async def find_upload(request: Request) -> Resource:
    row = await find(request, "upload_id", to_change=True)
    if not row.chunk_bytes:
        raise BadRequest(f"resource {row.id} came whole; it has no parts")
    return row


async def put_part(request: Request) -> Response:
    """One part, as the body or as the form field `file`; the same one again replaces it."""
    row = await find_upload(request)
    text = request.path_params["number"]
    total = resources.parts_total(row)
    if not text.isdecimal() or len(text) > 9 or int(text) >= total:
        raise BadRequest(f'no part "{text}"; this upload has the parts 0 to {total - 1}')
    if row.state != "pending":
        raise Conflict(f"upload {row.id} is complete; its parts do not change any more")
    number = int(text)
    expected = resources.part_bytes(row, number)
    received = await receive_file(request, context_of(request).blobs, expected)
    try:
        if received.size_bytes != expected:
            text = f"part {number} has {received.size_bytes} bytes, it should have {expected}"
            raise BadRequest(f"{text}; all parts but the last have chunkSize")
        key = resources.part_key(row.id, number)
        await context_of(request).blobs.keep(key, received.path)
    finally:
        received.path.unlink(missing_ok=True)
    found = await upload_view(request, row)
    view = PartView(
        upload_id=row.id,
        part_number=number,
        received_bytes=expected,
        uploaded_bytes=found.uploaded_bytes,
        next_part=found.next_part,
        status=found.status,
    )
    return reply(view)


async def complete(request: Request) -> Response:
    """Make a file of the parts, if they are all there and are what was promised."""
    body = await read_json(request, CompleteBody)
    row = await find_upload(request)
    locks = context_of(request).upload_locks
    lock = locks.setdefault(row.id, asyncio.Lock())
    try:
        async with lock:
            done = await complete_once(request, await find_upload(request), body)
    finally:
        locks.pop(row.id, None)
    return reply(resource_view(done))


async def complete_once(request: Request, row: Resource, body: CompleteBody) -> Resource:
    engine: Engine = engine_of(request)
    if row.sha256 and body.sha256 and body.sha256.lower() != row.sha256:
        raise Conflict(f"the upload was opened for the sha256 {row.sha256}; complete it with that")
    if row.state == "complete":
        return row
    blobs = context_of(request).blobs
    try:
        expected = row.sha256 or body.sha256 or ""
        digest = await resources.assemble(blobs, row, expected)
    except Conflict:
        # Another process may have completed it, and removed the parts, meanwhile.
        again = await find_upload(request)
        if again.state == "complete":
            return again
        raise
    noted = partial(file_line, request, "resource.upload")
    done = await resources.completed(engine, row, digest, noted)
    await resources.remove_parts(blobs, row)
    return done


async def abort(request: Request) -> Response:
    """Give an upload up; its parts are removed."""
    row = await find_upload(request)
    if row.state != "pending":
        raise Conflict(f"upload {row.id} is complete; delete the resource instead")
    await resources.abort(engine_of(request), row, file_line(request, "resource.abort", row))
    await resources.remove_blobs(context_of(request).blobs, row)
    return Response(status_code=204)


async def upload_view(request: Request, row: Resource) -> UploadView:
    total = resources.parts_total(row)
    parts = list(range(total))
    if row.state == "pending":
        parts = await resources.received(context_of(request).blobs, row)
    missing = sorted(set(range(total)) - set(parts))
    complete = row.state == "complete"
    return UploadView(
        upload_id=row.id,
        filename=row.filename,
        size_bytes=row.size_bytes,
        mime_type=row.mime_type,
        chunk_size=row.chunk_bytes,
        uploaded_bytes=sum(resources.part_bytes(row, number) for number in parts),
        next_part=missing[0] if missing else total,
        total_parts=total,
        completed_parts=parts,
        status=_STATUS[row.state],
        created_at=iso(row.created_at),
        updated_at=iso(engine_of(request).store.now()),
        sha256=row.sha256 or None,
        resource_id=row.id if complete else None,
        expires_at=None if row.expires_at is None else iso(row.expires_at),
        metadata=msgspec.Raw(row.metadata.encode()),
    )


_AT = "/api/v1/resources/uploads"
_ONE = _AT + "/{upload_id}"
ROUTES = [
    Route("POST", _AT, begin, "operator", UploadBody, UploadView, 201),
    Route("GET", _ONE, get_upload, "operator", gives=UploadView),
    Route("DELETE", _ONE, abort, "operator", status=204),
    Route("PUT", _ONE + "/parts/{number}", put_part, "operator", gives=PartView),
    Route("POST", f"{_ONE}/complete", complete, "operator", CompleteBody, ResourceView),
]

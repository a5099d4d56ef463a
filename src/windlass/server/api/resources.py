"""Files somebody uploads for workflows to use: whole in one request."""

from functools import partial
from urllib.parse import unquote

import msgspec
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from windlass.engine import resources
from windlass.model.access import Audit
from windlass.model.errors import BadRequest, Conflict, NotFound
from windlass.model.rows import Resource
from windlass.model.times import iso
from windlass.ports.store import Cond
from windlass.protocol.resources_api import ResourceList, ResourceView
from windlass.server.audit import line
from windlass.server.auth import Who
from windlass.server.caller import engine_of, who
from windlass.server.context import context_of
from windlass.server.http import reply
from windlass.server.paging import fetch_filtered, like
from windlass.server.routes import Route
from windlass.server.uploads import receive_file

VISIBILITIES = ("private", "internal", "public")
FILE_BYTES_MAX = 5 << 30
PAGE_MAX = 200


def may_see(caller: Who, row: Resource) -> bool:
    """A private file is its owner's, and an admin's."""
    return row.visibility != "private" or row.owner == caller.name or caller.may("admin")


async def find(request: Request, name: str = "id", *, to_change: bool = False) -> Resource:
    """The resource a path names, if the caller may know of it."""
    row = await resources.get(engine_of(request), request.path_params[name])
    caller = who(request)
    hidden = row.type == resources.PARAMETERS or not may_see(caller, row)
    if hidden or (to_change and row.owner != caller.name and not caller.may("admin")):
        raise NotFound(f'no resource "{row.id}"' + (" of yours" if to_change else ""))
    return row


async def upload(request: Request) -> Response:
    """Keep a file: the form field `file`, or the body itself with its name in `filename`."""
    query, engine = request.query_params, engine_of(request)
    visibility = check_visibility(query.get("visibility", "private"))
    received = await receive_file(request, context_of(request).blobs, FILE_BYTES_MAX)
    try:
        given = query.get("filename") or received.filename
        file = resources.Upload(
            filename=resources.check_filename(unquote(given)),
            size_bytes=received.size_bytes,
            mime_type=resources.check_mime_type(received.mime_type),
            sha256=received.sha256,
            type=query.get("type", "file"),
            visibility=visibility,
        )
        if query.get("type") == resources.PARAMETERS:
            raise BadRequest(f'no file can be of the type "{resources.PARAMETERS}"')
        if (wanted := query.get("sha256")) and wanted.lower() != received.sha256:
            raise Conflict(f"the file has the sha256 {received.sha256}, not {wanted}")
        resource_id = engine.new_id()
        key = resources.blob_key(resource_id)
        await context_of(request).blobs.keep(key, received.path)
    finally:
        received.path.unlink(missing_ok=True)
    owner = who(request).name
    try:
        row = await resources.add(
            engine,
            file,
            owner=owner,
            resource_id=resource_id,
            noted=partial(file_line, request, "resource.upload"),
        )
    except Conflict:
        await context_of(request).blobs.remove(key)
        raise
    return reply(resource_view(row), 201, {"Location": f"/api/v1/resources/{row.id}"})


def file_line(request: Request, action: str, row: Resource) -> Audit:
    """The audit line of what happens to a file, for the commit in which it does."""
    return line(request, action, "resource", row.id, filename=row.filename)


def check_visibility(given: str) -> str:
    if given not in VISIBILITIES:
        raise BadRequest(f'no visibility "{given}"; there are {", ".join(VISIBILITIES)}')
    return given


async def list_resources(request: Request) -> Response:
    """Files the caller may see, newest first; `q` is text in the name."""
    engine, caller = engine_of(request), who(request)
    query = request.query_params
    where = [Cond("state", "=", "complete"), Cond("type", "!=", resources.PARAMETERS)]
    if text := query.get("q"):
        where.append(Cond("filename", "like", like(text)))
    if kind := query.get("type"):
        where.append(Cond("type", "=", kind))
    if owner := query.get("ownerId"):
        where.append(Cond("owner", "=", owner))
    rows, next_ = await fetch_filtered(
        request,
        Resource,
        lambda row: may_see(caller, row) and not resources.has_expired(engine, row),
        where,
        size_max=PAGE_MAX,
    )
    return reply(ResourceList(items=[resource_view(row) for row in rows], next_cursor=next_))


async def get_resource(request: Request) -> Response:
    """One file, without its content."""
    row = await find(request)
    if row.state != "complete":
        raise NotFound(f'no resource "{row.id}"; its upload is not complete')
    return reply(resource_view(row))


async def download(request: Request) -> Response:
    """The content of a file, or (Range) a part of it."""
    row = await find(request)
    if row.state != "complete":
        raise NotFound(f'no resource "{row.id}"; its upload is not complete')
    path = await context_of(request).blobs.path(resources.blob_key(row.id))
    headers = {"X-Content-SHA256": row.sha256, "X-Content-Type-Options": "nosniff"}
    return FileResponse(path, media_type=row.mime_type, filename=row.filename, headers=headers)


async def delete(request: Request) -> Response:
    """Remove a file."""
    row = await find(request, to_change=True)
    await resources.abort(engine_of(request), row, file_line(request, "resource.delete", row))
    await resources.remove_blobs(context_of(request).blobs, row)
    return Response(status_code=204)


def resource_view(row: Resource) -> ResourceView:
    return ResourceView(
        resource_id=row.id,
        provider="local",
        type=row.type,
        filename=row.filename,
        size_bytes=row.size_bytes,
        created_at=iso(row.created_at),
        owner_id=row.owner,
        visibility=row.visibility,
        mime_type=row.mime_type,
        sha256=row.sha256,
        download_url=f"/api/v1/resources/{row.id}/download",
        expires_at=None if row.expires_at is None else iso(row.expires_at),
        metadata=msgspec.Raw(row.metadata.encode()),
    )


_AT = "/api/v1/resources"
ROUTES = [
    Route(
        "GET",
        _AT,
        list_resources,
        gives=ResourceList,
        query=("q", "type", "ownerId", "limit", "cursor"),
    ),
    Route(
        "POST",
        _AT,
        upload,
        "operator",
        None,
        ResourceView,
        201,
        query=("filename", "type", "visibility", "sha256"),
    ),
    Route("GET", _AT + "/{id}", get_resource, gives=ResourceView),
    Route("GET", _AT + "/{id}/download", download),
    Route("DELETE", _AT + "/{id}", delete, "operator", status=204),
]

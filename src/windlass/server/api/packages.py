"""Packages: publish, list, fetch, deprecate and yank."""

import asyncio

import msgspec
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from windlass.engine import packages
from windlass.model.errors import Denied, NotFound
from windlass.model.packages import Package, PackageVersion
from windlass.ports.store import Cond
from windlass.protocol.packages.archive import Limits, inspect
from windlass.protocol.packages.signature import Trust, verify
from windlass.protocol.packages_api import (
    PackageDetail,
    PackageList,
    PackageSummary,
    PublishedPackage,
    StatusBody,
    TagBody,
    TransferBody,
    VisibilityBody,
)
from windlass.server.audit import line
from windlass.server.auth import Who
from windlass.server.caller import engine_of, who
from windlass.server.context import context_of
from windlass.server.http import read_json, reply
from windlass.server.paging import fetch_filtered, like
from windlass.server.routes import Route
from windlass.server.uploads import Received, receive_file


async def publish(request: Request) -> Response:
    """Publish a `.cwx`, as the form field `file` or as the body; the same archive twice is one."""
    limits = Limits()
    blobs = context_of(request).blobs
    received = await receive_file(request, blobs, limits.archive_bytes)
    engine = engine_of(request)
    try:
        archive = await asyncio.to_thread(look_into, received, limits, context_of(request).trust)
        manifest = archive.contents.manifest
        await check_publisher(request, manifest.name)
        known = await packages.check_free(engine, archive)
        if known is not None:
            return reply(published_view(known, created=False))
        key = packages.blob_key(manifest.name, manifest.version, archive.sha256)
        await blobs.keep(key, received.path)
    finally:
        received.path.unlink(missing_ok=True)
    done = await packages.publish(
        engine,
        archive,
        owner=who(request).name,
        noted=lambda row: line(request, "package.publish", "package", row.id, sha256=row.sha256),
    )
    return reply(published_view(done.version, created=done.created), 201 if done.created else 200)


async def check_publisher(request: Request, name: str) -> None:
    """Refuse a version of somebody else's package; a name nobody has is free."""
    try:
        package = await packages.get_package(engine_of(request), name)
    except NotFound:
        return
    check_owner(request, package)


def check_owner(request: Request, package: Package) -> None:
    caller = who(request)
    if not caller.may("admin") and package.owner != caller.name:
        text = f'package "{package.name}" belongs to "{package.owner}"'
        raise Denied(f"{text}; only they and admins change it")


async def own_package(request: Request) -> Package:
    """The package a request is about, if the caller may change it."""
    package = await readable(request, request.path_params["name"])
    check_owner(request, package)
    return package


async def readable(request: Request, name: str) -> Package:
    """A package the caller may see; to others a private one does not exist."""
    package = await packages.get_package(engine_of(request), name)
    if not may_read(who(request), package.visibility, package.owner):
        raise packages.no_package(name)
    return package


def may_read(caller: Who, visibility: str, owner: str) -> bool:
    """Workers read every package: they install what runs need, whoever published it."""
    return visibility != "private" or owner == caller.name or caller.may("worker")


def look_into(received: Received, limits: Limits, trust: Trust) -> packages.Archive:
    """Check an archive through and through; whatever is wrong with it is refused by name."""
    with received.path.open("rb") as file:
        contents = inspect(file, limits)
    verdict = verify(contents, trust)
    verdict.check()
    return packages.Archive(
        contents=contents,
        manifest=contents.manifest_text.decode(),
        sha256=received.sha256,
        size_bytes=received.size_bytes,
        signer=verdict.signed_by or verdict.key_id,
    )


def published_view(row: PackageVersion, *, created: bool) -> PublishedPackage:
    return PublishedPackage(
        name=row.name,
        version=row.version,
        status=row.status,
        archive_sha256=row.sha256,
        archive_size_bytes=row.size_bytes,
        signer=row.signer,
        created=created,
    )


async def list_packages(request: Request) -> Response:
    """Packages by name; `q` is text anywhere in it."""
    text = request.query_params.get("q")
    where = [Cond("name", "like", like(text))] if text else []
    caller = who(request)
    rows, next_ = await fetch_filtered(
        request,
        Package,
        lambda row: may_read(caller, row.visibility, row.owner),
        where,
        order="name",
        descending=False,
    )
    by_name = await packages.versions_by_name(engine_of(request), [row.name for row in rows])
    views = [summary_of(row, by_name.get(row.name, [])) for row in rows]
    return reply(PackageList(items=views, next=next_, next_cursor=next_))


async def summary(request: Request, row: Package) -> PackageSummary:
    return summary_of(row, await packages.versions_of(engine_of(request), row.name))


def summary_of(row: Package, found: list[PackageVersion]) -> PackageSummary:
    usable = [version.version for version in found if version.status != "yanked"]
    tags = packages.tags_of(row)
    return PackageSummary(
        name=row.name,
        description=row.description,
        versions=[version.version for version in found],
        latest_version=usable[0] if usable else None,
        default_version=tags.get("latest") or (usable[0] if usable else None),
        dist_tags=tags,
        owner_id=row.owner,
        visibility=row.visibility,
        state="active" if usable else "yanked",
    )


async def get_package(request: Request) -> Response:
    """One version of a package with its manifest; the newest unless `version` says otherwise."""
    engine = engine_of(request)
    name = request.path_params["name"]
    row = await readable(request, name)
    version = await packages.get_version(engine, name, request.query_params.get("version", ""))
    short = await summary(request, row)
    view = PackageDetail(
        **msgspec.structs.asdict(short),
        version=version.version,
        manifest=msgspec.Raw(version.manifest.encode()),
        available_versions=short.versions,
        status=version.status,
        archive_sha256=version.sha256,
        archive_size_bytes=version.size_bytes,
        signer=version.signer,
    )
    return reply(view)


async def registry(request: Request) -> Response:
    """What is known of a package as a whole: its owner, its versions, its tags."""
    row = await readable(request, request.path_params["name"])
    return reply(await summary(request, row))


async def transfer(request: Request) -> Response:
    """Hand a package to another owner; from then on only they and admins change it."""
    body = await read_json(request, TransferBody)
    name = (await own_package(request)).name
    noted = line(request, "package.transfer", "package", name, owner=body.owner_id)
    row = await packages.set_owner(engine_of(request), name, body.owner_id, noted)
    return reply(await summary(request, row))


async def archive(request: Request) -> Response:
    """The archive itself."""
    engine = engine_of(request)
    name = (await readable(request, request.path_params["name"])).name
    version = await packages.get_version(engine, name, request.query_params.get("version", ""))
    blobs = context_of(request).blobs
    path = await blobs.path(packages.blob_key(version.name, version.version, version.sha256))
    return FileResponse(
        path,
        media_type="application/zip",
        filename=f"{version.name}-{version.version}.cwx",
        headers={"X-Package-Archive-Sha256": version.sha256, "ETag": f'"{version.sha256}"'},
    )


async def set_status(request: Request) -> Response:
    """Deprecate a version, yank it, or make it active again."""
    body = await read_json(request, StatusBody)
    name, version = (await own_package(request)).name, request.path_params["version"]
    key = f"{name}@{version}"
    noted = line(request, "package.status", "package", key, status=body.status)
    row = await packages.set_status(engine_of(request), name, version, body.status, noted)
    return reply(published_view(row, created=False))


async def set_tag(request: Request) -> Response:
    """Let a tag point at a version."""
    body = await read_json(request, TagBody)
    name, tag = (await own_package(request)).name, request.path_params["tag"]
    noted = line(request, "package.tag", "package", name, tag=tag, version=body.version)
    row = await packages.set_tag(engine_of(request), name, tag, body.version, noted)
    return reply(await summary(request, row))


async def drop_tag(request: Request) -> Response:
    """Forget a tag."""
    name, tag = (await own_package(request)).name, request.path_params["tag"]
    noted = line(request, "package.tag", "package", name, tag=tag, version=None)
    row = await packages.set_tag(engine_of(request), name, tag, None, noted)
    return reply(await summary(request, row))


async def set_visibility(request: Request) -> Response:
    """Who should see a package."""
    body = await read_json(request, VisibilityBody)
    name = (await own_package(request)).name
    noted = line(request, "package.visibility", "package", name, visibility=body.visibility)
    row = await packages.set_visibility(engine_of(request), name, body.visibility, noted)
    return reply(await summary(request, row))


_AT = "/api/v1/published-packages"
_ONE = _AT + "/{name}"
ROUTES = [
    Route(
        "GET",
        "/api/v1/packages",
        list_packages,
        gives=PackageList,
        query=("q", "limit", "cursor"),
    ),
    Route("GET", "/api/v1/packages/{name}", get_package, gives=PackageDetail, query=("version",)),
    Route("GET", _AT, list_packages, gives=PackageList, query=("q", "limit", "cursor")),
    Route("POST", _AT, publish, "operator", None, PublishedPackage, 201),
    Route("GET", _ONE, get_package, gives=PackageDetail, query=("version",)),
    Route("GET", f"{_ONE}/registry", registry, gives=PackageSummary),
    Route("POST", f"{_ONE}/transfer", transfer, "operator", TransferBody, PackageSummary),
    Route("GET", f"{_ONE}/archive", archive, query=("version",), signed=True),
    Route(
        "PATCH", _ONE + "/versions/{version}", set_status, "operator", StatusBody, PublishedPackage
    ),
    Route("PUT", _ONE + "/tags/{tag}", set_tag, "operator", TagBody, PackageSummary),
    Route("DELETE", _ONE + "/tags/{tag}", drop_tag, "operator", None, PackageSummary),
    Route(
        "PATCH", f"{_ONE}/visibility", set_visibility, "operator", VisibilityBody, PackageSummary
    ),
]

"""Packages: the repository of published archives, by name and version.

An archive's content never changes under its version; its status does: `deprecated` warns,
`yanked` is no longer installed or resolved, though whoever has it keeps it.
"""

from collections.abc import Callable, Sequence

import msgspec
from msgspec.structs import replace

from windlass.engine.engine import Engine
from windlass.model.errors import BadRequest, Conflict, NotFound
from windlass.model.packages import Package, PackageVersion
from windlass.model.rows import Json, Row
from windlass.ports.store import Cond
from windlass.protocol.packages import versions
from windlass.protocol.packages.archive import Contents

STATUSES = ("active", "deprecated", "yanked")
VISIBILITIES = ("private", "internal", "public")
_VERSIONS_MAX = 10_000
_OWNER_MAX = 200


class Archive(msgspec.Struct, frozen=True, kw_only=True):
    """An archive that was looked into and found good."""

    contents: Contents
    manifest: Json
    sha256: str
    size_bytes: int
    signer: str = ""


def version_id(name: str, version: str) -> str:
    return f"{name}@{version}"


def blob_key(name: str, version: str, sha256: str) -> str:
    """Where an archive is kept: by its content, so that two under one version never meet."""
    return f"packages/{name}/{version}-{sha256}.cwx"


async def find_version(engine: Engine, name: str, version: str) -> PackageVersion | None:
    async with engine.store.session() as session:
        rows = await session.rows(PackageVersion, [version_id(name, version)])
    return rows[0] if rows else None


async def get_version(engine: Engine, name: str, version: str = "") -> PackageVersion:
    """A version by its name, tag or number; without one the newest that is not yanked."""
    rows = await versions_of(engine, name)
    package = await get_package(engine, name)
    tags = tags_of(package)
    wanted = tags.get(version, version) or tags.get("latest", "")
    if not wanted:
        usable = [row.version for row in rows if row.status != "yanked"]
        wanted = versions.newest(usable) or ""
    for row in rows:
        if row.version == wanted:
            return row
    what = f'version "{version}"' if version else "version that can be used"
    raise NotFound(f'package "{name}" has no {what}')


async def find_package(engine: Engine, name: str) -> Package | None:
    async with engine.store.session() as session:
        rows = await session.rows(Package, [name])
    return rows[0] if rows else None


async def get_package(engine: Engine, name: str) -> Package:
    package = await find_package(engine, name)
    if package is None:
        raise no_package(name)
    return package


def no_package(name: str) -> NotFound:
    return NotFound(f'no package "{name}"; publish one with `windlass pkg publish FILE`')


async def versions_of(engine: Engine, name: str) -> list[PackageVersion]:
    """All versions of a package, the newest first."""
    return (await versions_by_name(engine, [name], heavy=True)).get(name, [])


async def versions_by_name(
    engine: Engine, names: Sequence[str], *, heavy: bool = False
) -> dict[str, list[PackageVersion]]:
    """The versions of several packages, read at once, the newest first; with their manifests only
    if `heavy`."""
    where = [Cond("name", "in", list(names))]
    found: dict[str, list[PackageVersion]] = {}
    for row in await engine.store.page(PackageVersion, where, limit=_VERSIONS_MAX, heavy=heavy):
        found.setdefault(row.name, []).append(row)
    for rows in found.values():
        rows.sort(key=lambda row: versions.parse(row.version), reverse=True)
    return found


async def check_free(engine: Engine, archive: Archive) -> PackageVersion | None:
    """The version if this very archive is published already; another one under it is refused."""
    manifest = archive.contents.manifest
    taken = await find_package(engine.system, manifest.name)
    if taken is not None and taken.tenant != engine.home:
        raise Conflict(f'the name "{manifest.name}" is taken on this server; choose another')
    known = await find_version(engine, manifest.name, manifest.version)
    if known is not None and known.sha256 != archive.sha256:
        text = f"{manifest.name} {manifest.version} is published with other content"
        raise Conflict(f"{text}; versions never change, publish a new one")
    return known


class Published(msgspec.Struct, frozen=True):
    version: PackageVersion
    created: bool


async def publish(
    engine: Engine,
    archive: Archive,
    *,
    owner: str,
    noted: Callable[[PackageVersion], Row] | None = None,
) -> Published:
    """Enter an archive whose blob is kept already; what is `noted` of it is in the same commit."""

    async def enter() -> Published:
        if (known := await check_free(engine, archive)) is not None:
            return Published(known, created=False)
        version = version_of(archive, owner, engine)
        await _enter(engine, archive, version, *([noted(version)] if noted is not None else ()))
        return Published(version, created=True)

    manifest = archive.contents.manifest
    done = await engine.change_locks.make(version_id(manifest.name, manifest.version), enter)
    engine.handlers.learn_manifest(done.version.id, msgspec.json.decode(archive.manifest))
    return done


def version_of(archive: Archive, owner: str, engine: Engine) -> PackageVersion:
    manifest = archive.contents.manifest
    return PackageVersion(
        id=version_id(manifest.name, manifest.version),
        name=manifest.name,
        version=manifest.version,
        sha256=archive.sha256,
        size_bytes=archive.size_bytes,
        manifest=archive.manifest,
        signer=archive.signer,
        owner=owner,
        created_at=engine.store.now(),
        tenant=engine.home,
    )


async def _enter(engine: Engine, archive: Archive, version: PackageVersion, *along: Row) -> None:
    """Add a version to its package, which is made if it is new."""
    text, now = archive.contents.manifest.description, version.created_at
    updated = await engine.update(
        Package,
        version.name,
        lambda known: replace(known, description=text, updated_at=now),
        version,
        *along,
    )
    if updated is None:
        package = Package(
            name=version.name,
            description=text,
            owner=version.owner,
            created_at=now,
            updated_at=now,
            tenant=engine.home,
        )
        await engine.write(package, version, *along)


async def set_status(
    engine: Engine, name: str, version: str, status: str, *along: Row
) -> PackageVersion:
    """Deprecate, yank, or take either back."""
    if status not in STATUSES:
        raise BadRequest(f'no status "{status}"; there are {", ".join(STATUSES)}')
    key = f"{name}@{version}"
    changed = await engine.update(
        PackageVersion, key, lambda found: replace(found, status=status), *along
    )
    if changed is None:
        raise NotFound(f'package "{name}" has no version "{version}"')
    engine.recent.clear()
    return changed


async def set_tag(engine: Engine, name: str, tag: str, version: str | None, *along: Row) -> Package:
    """Let a tag point at a version, or (None) at nothing."""
    if version is not None:
        if not tag or len(tag) > 64 or versions.is_version(tag):
            raise BadRequest(f'"{tag[:64]}" cannot be a tag; use a word such as stable')
        if await find_version(engine, name, version) is None:
            raise NotFound(f'package "{name}" has no version "{version}"')

    def change(package: Package) -> Package:
        tags = {**tags_of(package), tag: version}
        kept = {word: points_at for word, points_at in tags.items() if points_at is not None}
        return replace(package, tags=msgspec.json.encode(kept).decode())

    return await _change(engine, name, change, along)


async def set_visibility(engine: Engine, name: str, visibility: str, *along: Row) -> Package:
    if visibility not in VISIBILITIES:
        raise BadRequest(f'no visibility "{visibility}"; there are {", ".join(VISIBILITIES)}')
    return await _change(engine, name, lambda now: replace(now, visibility=visibility), along)


async def _change(
    engine: Engine, name: str, change: Callable[[Package], Package], along: Sequence[Row]
) -> Package:
    at = engine.store.now()
    done = await engine.update(
        Package, name, lambda now: replace(change(now), updated_at=at), *along
    )
    return done if done is not None else await get_package(engine, name)


async def set_owner(engine: Engine, name: str, owner: str, *along: Row) -> Package:
    """Let somebody else have a package: a user by name, or a token by its name."""
    if not owner.strip() or len(owner) > _OWNER_MAX:
        raise BadRequest("ownerId names the user or token a package is to belong to")
    return await _change(engine, name, lambda now: replace(now, owner=owner), along)


def tags_of(package: Package) -> dict[str, str]:
    return msgspec.json.decode(package.tags, type=dict[str, str])

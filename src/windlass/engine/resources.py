"""Resources: files somebody uploaded, whole or part by part.

A resource's row comes first and its content is a blob under the row's id. Parts are blobs of their
own, and being there is what makes them received: two that arrive at the same moment need no lock.
"""

import asyncio
import re
import secrets
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
from msgspec.structs import replace

from windlass.engine.engine import Engine
from windlass.engine.limits.storage import keep_file
from windlass.model.errors import BadRequest, Conflict, NotFound
from windlass.model.rows import Json, Resource, Row
from windlass.ports.blobs import Blobs
from windlass.ports.store import Cond

PARAMETERS = "parameters"
"""The type of what a dispatch could not carry; shown to nobody."""
PARTS_MAX = 10_000
CHUNK_BYTES = 8 << 20
UPLOAD_S = 86_400
_COPY_BYTES = 1 << 20
_NAME_MAX = 255
_MIME_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]*/[a-z0-9][a-z0-9!#$&^_.+-]*")
_SHA256 = re.compile(r"[0-9a-fA-F]{64}")


class Upload(msgspec.Struct, frozen=True, kw_only=True):
    """A file that is to come part by part."""

    filename: str
    size_bytes: int
    mime_type: str = "application/octet-stream"
    sha256: str = ""
    chunk_bytes: int = 0
    metadata: Json = "{}"
    type: str = "file"
    visibility: str = "private"


def blob_key(resource_id: str) -> str:
    return f"resources/{resource_id}"


def part_key(resource_id: str, number: int) -> str:
    return f"uploads/{resource_id}/{number}"


def parts_total(row: Resource) -> int:
    return max(1, -(-row.size_bytes // row.chunk_bytes))


def part_bytes(row: Resource, number: int) -> int:
    """How long a part must be: all alike but the last."""
    return min(row.chunk_bytes, row.size_bytes - number * row.chunk_bytes)


def check_filename(name: str) -> str:
    """The last part of a name, as text that may be shown and sent in a header."""
    short = name.replace("\\", "/").rpartition("/")[2]
    if not short or len(short) > _NAME_MAX or not short.isprintable():
        raise BadRequest(f"a filename has 1 to {_NAME_MAX} printable characters")
    return short


def check_mime_type(text: str) -> str:
    """A media type without parameters, safe to send in a header."""
    plain = text.partition(";")[0].strip().lower()
    if len(plain) > _NAME_MAX or not _MIME_TYPE.fullmatch(plain):
        raise BadRequest(f"{plain[:60]!r} is not a media type, such as text/plain")
    return plain


def check_sha256(text: str) -> str:
    if text and not _SHA256.fullmatch(text):
        raise BadRequest("sha256 is not 64 hexadecimal digits")
    return text.lower()


Noted = Callable[[Resource], Row]
"""Makes the row that tells of a change to a file, for the commit of that change."""


async def add(
    engine: Engine,
    file: Upload,
    *,
    owner: str,
    resource_id: str = "",
    noted: Noted | None = None,
) -> Resource:
    """Enter a file whose blob is kept already, or will be."""
    row = _row(engine, file, owner, resource_id)
    complete = replace(row, state="complete")
    await keep_file(engine, complete, *_along(noted, complete))
    return complete


def _along(noted: Noted | None, row: Resource) -> tuple[Row, ...]:
    return (noted(row),) if noted is not None else ()


async def begin(
    engine: Engine, file: Upload, *, owner: str, bytes_max: int, noted: Noted | None = None
) -> Resource:
    """Open an upload; it has a day to arrive."""
    if not 0 < file.size_bytes <= bytes_max:
        raise BadRequest(f"sizeBytes is from 1 to {bytes_max}")
    chunk = file.chunk_bytes or max(CHUNK_BYTES, -(-file.size_bytes // PARTS_MAX))
    if not 1 <= chunk <= bytes_max or -(-file.size_bytes // chunk) > PARTS_MAX:
        raise BadRequest(f"chunkSize {chunk} makes more than {PARTS_MAX} parts; take a larger one")
    row = _row(engine, file, owner, "")
    expires_at = row.created_at + UPLOAD_S * 1000
    pending = replace(row, chunk_bytes=chunk, expires_at=expires_at)
    await keep_file(engine, pending, *_along(noted, pending))
    return pending


def _row(engine: Engine, file: Upload, owner: str, resource_id: str) -> Resource:
    return Resource(
        id=resource_id or engine.new_id(),
        filename=check_filename(file.filename),
        type=file.type,
        mime_type=check_mime_type(file.mime_type),
        size_bytes=file.size_bytes,
        sha256=check_sha256(file.sha256),
        owner=owner,
        visibility=file.visibility,
        metadata=file.metadata,
        created_at=engine.store.now(),
        tenant=engine.home,
    )


async def get(engine: Engine, resource_id: str) -> Resource:
    """A resource that is there, whole or in parts."""
    async with engine.store.session() as session:
        rows = await session.rows(Resource, [resource_id])
    if not rows or rows[0].state == "aborted" or has_expired(engine, rows[0]):
        raise NotFound(f'no resource "{resource_id}"')
    return rows[0]


def has_expired(engine: Engine, row: Resource) -> bool:
    return row.expires_at is not None and row.expires_at <= engine.store.now()


async def received(blobs: Blobs, row: Resource) -> list[int]:
    """Numbers of the parts that have arrived."""
    keys = {part_key(row.id, number): number for number in range(parts_total(row))}
    return sorted(keys[key] for key in await blobs.present(list(keys)))


async def assemble(blobs: Blobs, row: Resource, expected: str) -> str:
    """Put the parts together and keep them as one; tells the digest."""
    digest = sha256()
    scratch = blobs.scratch(secrets.token_hex(16))
    try:
        with scratch.open("wb") as out:
            for number in range(parts_total(row)):
                part = await _part(blobs, row, number)
                await asyncio.to_thread(_append, out, part, digest)
        if expected and digest.hexdigest() != expected.lower():
            text = f"the parts have the sha256 {digest.hexdigest()}, not {expected}"
            raise Conflict(f"{text}; send the wrong ones again, then complete")
        await blobs.keep(blob_key(row.id), scratch)
    finally:
        await asyncio.to_thread(scratch.unlink, missing_ok=True)
    return digest.hexdigest()


def _append(out: BinaryIO, part: Path, digest: Any) -> None:
    with part.open("rb") as file:
        while chunk := file.read(_COPY_BYTES):
            digest.update(chunk)
            out.write(chunk)


async def _part(blobs: Blobs, row: Resource, number: int) -> Path:
    try:
        return await blobs.path(part_key(row.id, number))
    except NotFound:
        text = f"part {number} of {parts_total(row)} has not arrived"
        raise Conflict(f"{text}; send it, then complete") from None


async def completed(
    engine: Engine, row: Resource, digest: str, noted: Noted | None = None
) -> Resource:
    """Enter an upload as whole; the first to do so is who is noted."""

    def change(now: Resource) -> Resource | None:
        if now.state != "pending":
            return None
        return replace(now, state="complete", sha256=digest, expires_at=None)

    done = await engine.update(Resource, row.id, change, *_along(noted, row))
    if done is None:
        async with engine.store.session() as session:
            found = await session.rows(Resource, [row.id])
        if not found or found[0].state != "complete":
            raise Conflict(f"upload {row.id} was given up meanwhile")
        done = found[0]
    return done


async def abort(engine: Engine, row: Resource, *along: Row) -> None:
    """Forget a resource; whoever keeps its blobs removes them after."""
    await engine.update(
        Resource,
        row.id,
        lambda now: None if now.state == "aborted" else replace(now, state="aborted"),
        *along,
    )


async def remove_blobs(blobs: Blobs, row: Resource) -> None:
    """Remove what is kept of a resource."""
    await blobs.remove(blob_key(row.id))
    if row.chunk_bytes:
        await remove_parts(blobs, row)


async def remove_parts(blobs: Blobs, row: Resource) -> None:
    for number in await received(blobs, row):
        await blobs.remove(part_key(row.id, number))


async def expired(engine: Engine, count_max: int = 100) -> Sequence[Resource]:
    """Resources whose time is over and that are still kept."""
    where = [Cond("expires_at", "<=", engine.store.now()), Cond("state", "!=", "aborted")]
    return await engine.store.page(Resource, where, limit=count_max)

"""Receiving files: streamed to a scratch place, bounded, never held in memory."""

import asyncio
import secrets
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO, NamedTuple

from starlette.datastructures import UploadFile
from starlette.requests import Request

from windlass.model.errors import BadRequest
from windlass.ports.blobs import Blobs
from windlass.server.http import TooLarge

_CHUNK_BYTES = 1 << 20
_FORM_SLACK_BYTES = 64 << 10


class Received(NamedTuple):
    """A file that has arrived whole, in its scratch place."""

    path: Path
    filename: str
    mime_type: str
    size_bytes: int
    sha256: str


async def receive_file(request: Request, blobs: Blobs, bytes_max: int) -> Received:
    """The file of a request: the field `file` of a form, or the body itself."""
    stated = request.headers.get("content-length", "")
    if stated.isdecimal() and int(stated) > bytes_max + _FORM_SLACK_BYTES:
        raise TooLarge(f"the file has {stated} bytes, at most {bytes_max} are taken")
    mime_type = request.headers.get("content-type", "application/octet-stream")
    scratch = blobs.scratch(secrets.token_hex(16))
    try:
        if mime_type.startswith("multipart/form-data"):
            return await _from_form(request, scratch, bytes_max)
        return await _from_body(request, scratch, mime_type, bytes_max)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise


async def _from_form(request: Request, scratch: Path, bytes_max: int) -> Received:
    if not request.headers.get("content-length", "").isdecimal():
        raise BadRequest("a form with a file needs a Content-Length")
    async with request.form(max_files=1, max_fields=20) as form:
        found = form.get("file")
        if not isinstance(found, UploadFile):
            raise BadRequest('the form has no file; send it as the field "file"')
        digest, size = sha256(), 0
        with scratch.open("wb") as out:
            while chunk := await found.read(_CHUNK_BYTES):
                size = await _take(out, chunk, digest.update, size, bytes_max)
        name, kind = found.filename or "file", found.content_type or "application/octet-stream"
        return Received(scratch, name, kind, size, digest.hexdigest())


async def _from_body(request: Request, scratch: Path, mime_type: str, bytes_max: int) -> Received:
    digest, size = sha256(), 0
    with scratch.open("wb") as out:
        async for chunk in request.stream():
            size = await _take(out, chunk, digest.update, size, bytes_max)
    if not size:
        raise BadRequest("the body is empty; send the file in it, or as the form field file")
    return Received(scratch, "file", mime_type, size, digest.hexdigest())


async def _take(
    out: BinaryIO, chunk: bytes, update: Callable[[bytes], None], size: int, bytes_max: int
) -> int:
    size += len(chunk)
    if size > bytes_max:
        raise TooLarge(f"the file has more than {bytes_max} bytes")
    update(chunk)
    if len(chunk) >= _CHUNK_BYTES // 4:
        await asyncio.to_thread(out.write, chunk)
    else:
        out.write(chunk)
    return size

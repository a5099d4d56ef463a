"""Parameters too large for a frame: kept as a blob, which the worker fetches."""

import asyncio
import contextlib
import secrets
from hashlib import sha256
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import FileResponse, Response

from windlass.engine import resources
from windlass.engine.engine import Engine
from windlass.model.errors import Conflict, NotFound
from windlass.model.ids import run_of
from windlass.model.rows import Resource, Run
from windlass.model.tenants import ALL
from windlass.ports.blobs import Blobs
from windlass.server.caller import engine_of, who
from windlass.server.context import context_of
from windlass.server.own_attempts import check_own
from windlass.server.routes import Route

KEPT_S = 86_400
"""A worker fetches them at once; they are kept a while for one that was cut off."""
_AT = "/api/v1/attempt-parameters"


class Parameters:
    """Keeps what a session could not send."""

    def __init__(self, engine: Engine, blobs: Blobs) -> None:
        self._engine = engine
        self._blobs = blobs

    async def keep(self, attempt_id: str, content: bytes) -> dict[str, Any]:
        """Keep the parameters of an attempt; tells where they are."""
        digest = sha256(content).hexdigest()
        known = await find_kept(self._engine, attempt_id)
        scratch = self._blobs.scratch(secrets.token_hex(16))
        await asyncio.to_thread(scratch.write_bytes, content)
        await self._blobs.keep(resources.blob_key(key_of(attempt_id)), scratch)
        if known is None:
            with contextlib.suppress(Conflict):  # another told the same worker of it as well
                await self._engine.write(self._row(attempt_id, content, digest))
        return {
            "path": f"{_AT}/{quote(attempt_id, safe='~@.')}",
            "sha256": digest,
            "sizeBytes": len(content),
        }

    def _row(self, attempt_id: str, content: bytes, digest: str) -> Resource:
        now = self._engine.store.now()
        return Resource(
            id=key_of(attempt_id),
            filename=attempt_id,
            type=resources.PARAMETERS,
            mime_type="application/json",
            state="complete",
            size_bytes=len(content),
            sha256=digest,
            created_at=now,
            expires_at=now + KEPT_S * 1000,
        )


def key_of(attempt_id: str) -> str:
    """An attempt's id as the name of a blob: short, and without anything a path could mean."""
    return f"p-{sha256(attempt_id.encode()).hexdigest()}"


async def find_kept(engine: Engine, attempt_id: str) -> Resource | None:
    async with engine.store.session() as session:
        rows = await session.rows(Resource, [key_of(attempt_id)])
    return rows[0] if rows else None


async def get_parameters(request: Request) -> Response:
    """The parameters of an attempt that did not fit into its dispatch."""
    attempt_id = request.path_params["attempt_id"]
    await check_own(request, attempt_id)
    engine = engine_of(request)
    async with engine.store.session() as session:
        seen = await session.rows(Run, [run_of(attempt_id)])
    # A worker of no tenant's does the work of all.
    row = None
    if seen or who(request).works_for == ALL:
        row = await find_kept(engine.system, attempt_id)
    if row is None or row.state != "complete":
        raise NotFound(f'nothing is kept for attempt "{attempt_id}"')
    blobs = context_of(request).blobs
    path = await blobs.path(resources.blob_key(row.id))
    return FileResponse(path, media_type=row.mime_type, headers={"X-Content-SHA256": row.sha256})


ROUTES = [Route("GET", _AT + "/{attempt_id}", get_parameters, "worker", signed=True)]

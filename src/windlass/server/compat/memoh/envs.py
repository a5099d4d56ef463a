"""Resources of environments in Memoh's shapes."""

from typing import Any, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from windlass.engine.envs.resources import get_resource
from windlass.model.envs import EnvResource
from windlass.model.errors import BadRequest
from windlass.ports.store import Cond
from windlass.protocol.envs import EnvResourceBody, EnvResourcePatch
from windlass.server.caller import engine_of
from windlass.server.compat.memoh.wire import decoded, moment
from windlass.server.env_changes import resource_changed, resource_deleted, resource_made
from windlass.server.http import read_json, reply

T = TypeVar("T")

_ROWS_MAX = 1_000
_FIELDS = frozenset({"kind", "name", "capacity", "config", "metadata", "status"})


async def list_resources(request: Request) -> Response:
    """The resources there are, by name."""
    where = [
        Cond(name, "=", value)
        for name in ("kind", "status")
        if (value := request.query_params.get(name))
    ]
    rows = await engine_of(request).store.page(EnvResource, where, order="name", limit=_ROWS_MAX)
    return reply({"items": [resource_view(row) for row in rows]})


async def get_one(request: Request) -> Response:
    """One resource."""
    row = await get_resource(engine_of(request), request.path_params["id"])
    return reply(resource_view(row))


async def make(request: Request) -> Response:
    """Make a resource; without a runtime for its kind there can be none."""
    body = _read(await read_json(request, dict[str, Any]), EnvResourceBody)
    return reply(resource_view(await resource_made(request, body)), 201)


async def change(request: Request) -> Response:
    """Change what the body names, and nothing else."""
    given = await read_json(request, dict[str, Any])
    row = await get_resource(engine_of(request), request.path_params["id"])
    for name in ("kind", "name"):
        if given.pop(name, None) not in (None, getattr(row, name)):
            raise BadRequest(f"{name}: what a resource is called and is stays; make another")
    return reply(resource_view(await resource_changed(request, _read(given, EnvResourcePatch))))


async def delete(request: Request) -> Response:
    """Delete a resource that has no sessions."""
    await resource_deleted(request)
    return Response(status_code=204)


def _read(given: dict[str, Any], kind: type[T]) -> T:
    # A resource's name is unique: the same request again finds it there, key or not.
    for name in sorted(given.keys() - _FIELDS - {"idempotency_key"}):
        raise BadRequest(f'"{name:.60}" is not known here; one of {", ".join(sorted(_FIELDS))}')
    try:
        return msgspec.convert(given, kind)
    except msgspec.ValidationError as error:
        raise BadRequest(str(error)) from None


def resource_view(row: EnvResource) -> dict[str, Any]:
    return {
        "id": row.id,
        "tenant_id": row.tenant,
        "owner_subject": row.created_by,
        "kind": row.kind,
        "name": row.name,
        "capacity": row.capacity,
        "config": decoded(row.config),
        "metadata": decoded(row.metadata),
        "status": row.status,
        "created_at": moment(row.created_at),
        "updated_at": moment(row.changed_at),
    }

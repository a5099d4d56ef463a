"""Images of containers in Memoh's shapes."""

from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from windlass.engine.envs.images import NO_RUNTIME, get_image
from windlass.model.envs import EnvImage
from windlass.model.errors import BadRequest
from windlass.protocol.envs import EnvImageBody
from windlass.server.caller import engine_of
from windlass.server.compat.memoh.wire import decoded, moment
from windlass.server.context import context_of
from windlass.server.env_changes import image_made
from windlass.server.http import read_json, reply

_ROWS_MAX = 1_000
_FIELDS = ("name", "source_type", "image_ref", "dockerfile", "metadata")


async def list_images(request: Request) -> Response:
    """The images there are, by name."""
    rows = await engine_of(request).store.page(EnvImage, [], order="name", limit=_ROWS_MAX)
    return reply({"items": [image_view(row) for row in rows]})


async def get_one(request: Request) -> Response:
    """One image, with its log."""
    return reply(image_view(await get_image(engine_of(request), request.path_params["id"])))


async def capabilities(request: Request) -> Response:
    """Whether images can be built here."""
    picked = context_of(request).places.hosts.images()
    if picked is None:
        return reply({"dockerfile_build": False, "reason": NO_RUNTIME})
    return reply(await picked[1].capabilities())


async def make(request: Request) -> Response:
    """Have an image pulled or built, as a job."""
    given = await read_json(request, dict[str, Any])
    for name in ("build_options", "idempotency_key"):
        given.pop(name, None)
    for name in sorted(given.keys() - set(_FIELDS)):
        raise BadRequest(f'"{name:.60}" is not known here; one of {", ".join(_FIELDS)}')
    try:
        named = {_CAMEL.get(name, name): value for name, value in given.items()}
        body = msgspec.convert(named, EnvImageBody)
    except msgspec.ValidationError as error:
        raise BadRequest(str(error)) from None
    return reply(image_view(await image_made(request, body)), 201)


_CAMEL = {"source_type": "sourceType", "image_ref": "imageRef"}


def image_view(row: EnvImage) -> dict[str, Any]:
    return {
        "id": row.id,
        "tenant_id": row.tenant,
        "name": row.name,
        "source_type": row.source,
        "image_ref": row.ref,
        "dockerfile": row.dockerfile,
        "metadata": decoded(row.metadata),
        "status": row.status,
        "digest": row.digest,
        "build_log": row.log,
        "error": row.error,
        "created_at": moment(row.created_at),
        "updated_at": moment(row.changed_at),
    }

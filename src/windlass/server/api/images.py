"""Images of containers: what there is, and what is being pulled or built."""

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from windlass.engine.envs.images import get_image
from windlass.model.envs import EnvImage
from windlass.ports.store import Cond
from windlass.protocol.api import Page
from windlass.protocol.envs import EnvImageBody, EnvImageView
from windlass.server.caller import engine_of
from windlass.server.env_changes import image_made
from windlass.server.http import read_json, reply
from windlass.server.paging import fetch_page
from windlass.server.routes import Route


async def list_images(request: Request) -> Response:
    """Images by name, without logs; `status` for some of them."""
    status = request.query_params.get("status", "")
    where = [Cond("status", "=", status)] if status else []
    rows, next_ = await fetch_page(
        request, EnvImage, where, order="name", descending=False, heavy=False
    )
    return reply(Page(items=[image_view(row, whole=False) for row in rows], next=next_))


async def get_one_image(request: Request) -> Response:
    """An image with its log, as far as it has come."""
    row = await get_image(engine_of(request), request.path_params["id"])
    return reply(image_view(row, whole=True))


async def make_image(request: Request) -> Response:
    """Have an image pulled or built; how it goes is told by the image itself."""
    body = await read_json(request, EnvImageBody)
    return reply(image_view(await image_made(request, body), whole=True), 201)


def image_view(row: EnvImage, *, whole: bool) -> EnvImageView:
    return EnvImageView(
        id=row.id,
        name=row.name,
        source_type=row.source,
        image_ref=row.ref,
        dockerfile=row.dockerfile if whole else "",
        metadata=msgspec.json.decode(row.metadata),
        status=row.status,
        digest=row.digest,
        host=row.host,
        log=row.log if whole else "",
        error=row.error,
        created_at=row.created_at,
        created_by=row.created_by,
        changed_at=row.changed_at,
    )


_AT = "/api/v1/envs/images"
ROUTES = [
    Route("GET", _AT, list_images, gives=Page[EnvImageView], query=("status", "limit", "cursor")),
    Route("POST", _AT, make_image, "operator", EnvImageBody, EnvImageView, 201),
    Route("GET", f"{_AT}/{{id}}", get_one_image, gives=EnvImageView),
]

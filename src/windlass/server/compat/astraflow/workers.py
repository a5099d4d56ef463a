"""Where workers of the link announce themselves."""

from starlette.requests import Request
from starlette.responses import Response

from windlass.protocol.workers_api import AnnouncedView
from windlass.server.announcements import announce, beat
from windlass.server.loose_fields import read_fields
from windlass.server.routes import Route


async def register(request: Request) -> Response:
    """Announce a worker of the link."""
    return await announce(request, await read_fields(request))


async def heartbeat(request: Request) -> Response:
    """Note how a worker of the link feels."""
    return await beat(request, await read_fields(request))


_AT = "/api/v1/workers"
ROUTES = [
    Route("POST", f"{_AT}/register", register, "worker", gives=AnnouncedView),
    Route("POST", f"{_AT}/heartbeat", heartbeat, "worker", gives=AnnouncedView),
]

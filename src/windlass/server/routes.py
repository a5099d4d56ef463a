"""Routes as data: what a path takes, gives and asks of the caller. OpenAPI is drawn from them."""

import logging
import re
import time
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route as StarletteRoute

from windlass.model.errors import WindlassError
from windlass.server.auth import Who
from windlass.server.http import problem, request_id_of
from windlass.server.signed import bearer_of

log = logging.getLogger(__name__)

Handler = Callable[[Request], Awaitable[Response]]


class Route(msgspec.Struct, frozen=True):
    """One method of one path."""

    method: str
    path: str
    handler: Handler
    role: str | None = "viewer"
    """Who may call it; None: anybody."""
    body: Any = None
    gives: Any = None
    """The type of the body, of the answer; a tuple where it is one of several."""
    status: int = 200
    query: tuple[str, ...] = ()
    errors: Callable[[Exception, str], Response] = problem
    signed: bool = False
    """Whether a signed address does instead of the role."""
    control: bool = False
    """Whether it needs a live control plane, here or in another process."""


_HALVES = {
    "workflow.viewer": re.compile(
        r"flows|workflows|(published-)?packages|nodes(:categories)?|catalog"
    ),
    "run.viewer": re.compile(
        r"runs|workers|scheduler|events|stream|stats|checkpoints|tasks|list|allocate"
    ),
}
"""First words of paths, by who reads them: workflows and packages, or what happens to runs."""


def role_for(route: Route) -> str | None:
    """The role a route asks for; reading is in two halves."""
    if route.role != "viewer":
        return route.role
    words = [word for word in route.path.split("/") if word not in ("", "api", "v1")]
    return next((role for role, head in _HALVES.items() if head.fullmatch(words[0])), route.role)


def who(request: Request) -> Who:
    """The caller, as the route's check found it."""
    found: Who = request.state.who
    return found


async def caller(request: Request, route: Route, role: str) -> Who:
    """Who calls, or an error that says what is missing."""
    by_address = await bearer_of(request) if route.signed else None
    found: Who = by_address or await request.app.state.auth.check(request, role)
    return found


def serve(route: Route) -> StarletteRoute:
    """A route of the web framework: the role checked first, every error told in one shape."""

    role = role_for(route)

    async def endpoint(request: Request) -> Response:
        began = time.perf_counter()
        try:
            if role is not None:
                request.state.who = await caller(request, route, role)
            if route.control:
                await request.app.state.control.check()
            response = await route.handler(request)
        except WindlassError as error:
            response = route.errors(error, request_id_of(request))
        except ClientDisconnect:
            response = Response(status_code=499)
        except Exception as error:
            log.exception("%s %s failed", route.method, route.path)
            response = route.errors(error, request_id_of(request))
        request.app.state.metrics.request(route, response.status_code, time.perf_counter() - began)
        return response

    return StarletteRoute(route.path, endpoint, methods=[route.method])

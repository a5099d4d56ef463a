"""Routes as data: what a path takes, gives and asks of the caller. OpenAPI is drawn from them."""

import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route as StarletteRoute

from windlass.model.errors import BadRequest, WindlassError
from windlass.server.auth import Who, check_again
from windlass.server.context import context_of
from windlass.server.http import problem, request_id_of
from windlass.server.signed import bearer_of

log = logging.getLogger(__name__)

_LONG_S = 2.0
"""After how long an answer is only given to a caller who may still have it."""

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
    often: bool = False
    """Whether it is asked for so often that it is looked for before all others."""


def read_by(role: str, *lists: Sequence[Route]) -> list[Route]:
    """Routes whose reading is one half of a viewer's: workflows and packages, or what happens to
    runs."""
    routes = [route for given in lists for route in given]
    return [replace(r, role=role) if r.role == "viewer" else r for r in routes]


async def caller(request: Request, role: str, *, signed: bool) -> Who:
    """Who calls, or an error that says what is missing."""
    by_address = await bearer_of(request) if signed else None
    if by_address is not None:
        return by_address
    request.state.role = role
    found: Who = await context_of(request).auth.check(request, role)
    return found


def check_address(request: Request) -> None:
    """Refuse what no database looks up, wherever in an address it stands."""
    if "\0" in request.scope["path"] or b"%00" in request.scope["query_string"]:
        raise BadRequest("the address holds a NUL character, which nothing here has in its name")


def serve(route: Route) -> StarletteRoute:
    """A route of the web framework: the role checked first, every error told in one shape."""

    async def endpoint(request: Request) -> Response:
        began, context = time.perf_counter(), context_of(request)
        try:
            check_address(request)
            if route.role is not None:
                request.state.who = await caller(request, route.role, signed=route.signed)
            if route.control:
                await context.control.check()
            response = await route.handler(request)
            if route.method == "GET" and time.perf_counter() - began > _LONG_S:
                await check_again(request)
        except WindlassError as error:
            response = route.errors(error, request_id_of(request))
        except ClientDisconnect:
            response = Response(status_code=499)
        except Exception as error:
            log.exception("%s %s failed", route.method, route.path)
            response = route.errors(error, request_id_of(request))
        context.metrics.request(route, response.status_code, time.perf_counter() - began)
        return response

    return StarletteRoute(route.path, endpoint, methods=[route.method])

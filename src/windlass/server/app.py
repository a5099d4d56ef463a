"""The web application: every route over one engine."""

from collections.abc import Callable, Sequence

import msgspec
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, WebSocketRoute

from windlass.engine.attempts import Attempts
from windlass.engine.engine import Engine
from windlass.engine.envs.places import Places
from windlass.model.errors import NotFound
from windlass.ports.blobs import Blobs
from windlass.protocol.packages.signature import Trust
from windlass.server import shared_paths
from windlass.server.api import (
    audit,
    blackboard,
    bulk,
    commands,
    dead_letters,
    env_work,
    envs,
    facts,
    fleet,
    flows,
    forks,
    grid,
    history,
    images,
    inbox,
    ledger,
    limits,
    logs,
    nodes,
    overview,
    packages,
    parameters,
    pod_list,
    pods,
    resources,
    runs,
    steering,
    stream,
    system,
    tenants,
    uploads,
    users,
    views,
    workers,
)
from windlass.server.auth import Auth
from windlass.server.commands import Commands
from windlass.server.compat.astraflow import events, listing, unserved, workflows
from windlass.server.compat.astraflow import workers as announcements
from windlass.server.compat.memoh import routes as memoh
from windlass.server.compat.pocketflow import routes as pocketflow
from windlass.server.compat.pocketflow import surface
from windlass.server.context import ServerContext
from windlass.server.control import ControlCheck
from windlass.server.env_gateway import drive_browser
from windlass.server.env_host_link import HostSocket, Offer, env_host_link
from windlass.server.http import WrongMethod, problem, request_id_of
from windlass.server.link.connection import worker_link
from windlass.server.link.plane import LinkPlane
from windlass.server.login_limiter import LoginLimiter
from windlass.server.metrics import Metrics
from windlass.server.openapi import openapi
from windlass.server.polls import Polls
from windlass.server.presence import Presence
from windlass.server.push_urls import LOOPBACK
from windlass.server.routes import Route, read_by, serve
from windlass.server.ui import WebUi
from windlass.server.waiting import Stops

NATIVE: Sequence[Route] = [
    *read_by(
        "workflow.viewer",
        flows.ROUTES,
        grid.ROUTES,
        workflows.ROUTES,
        packages.ROUTES,
        nodes.ROUTES,
    ),
    *read_by(
        "run.viewer",
        shared_paths.ROUTES,
        runs.ROUTES,
        listing.ROUTES,
        history.ROUTES,
        logs.ROUTES,
        workers.ROUTES,
        announcements.ROUTES,
        fleet.ROUTES,
        commands.ROUTES,
        inbox.ROUTES,
        steering.ROUTES,
        forks.ROUTES,
        ledger.ROUTES,
        blackboard.ROUTES,
        envs.ROUTES,
        env_work.ROUTES,
        facts.ROUTES,
        pods.ROUTES,
        pod_list.ROUTES,
        images.ROUTES,
        overview.ROUTES,
        stream.ROUTES,
        events.ROUTES,
        views.ROUTES,
        bulk.ROUTES,
    ),
    *resources.ROUTES,
    *uploads.ROUTES,
    *parameters.ROUTES,
    *users.ROUTES,
    *audit.ROUTES,
    *limits.ROUTES,
    *dead_letters.ROUTES,
    *tenants.ROUTES,
    *system.ROUTES,
]


class AppOptions(msgspec.Struct, frozen=True):
    """What an operator can set about the HTTP side."""

    auth_required: bool = True
    admin_token: str = ""
    session_s: float = 900.0
    """How long a user who signed in is not asked again."""
    login_tries: int = 10
    """How often a minute somebody may sign in in vain as one user from one address; ten times that
    from all addresses, or as all users."""
    push_allow: tuple[str, ...] = LOOPBACK
    body_bytes_max: int = 16 * 1024 * 1024
    trust: Trust = Trust()
    """Whose packages may be published here."""
    cors_origins: tuple[str, ...] = ()
    """Whose pages may call the PocketFlow surface; `*` is everybody's."""
    url_tokens: bool = False
    """Whether that surface takes tokens in addresses."""
    is_api: bool = True
    """Whether this process answers requests about anything but its health."""
    is_control: bool = True
    """Whether this process also runs the control plane."""


async def no_such_path(request: Request, error: Exception) -> Response:
    if surface.is_here(request.url.path):
        return surface.no_such_path()
    text = f"there is nothing at {request.url.path}; see /api/v1/openapi.json"
    return problem(NotFound(text), request_id_of(request))


async def no_such_method(request: Request, error: Exception) -> Response:
    if request.method == "OPTIONS":
        return Response(status_code=204, headers=getattr(error, "headers", None))
    if surface.is_here(request.url.path):
        return surface.no_such_method(request.url.path)
    text = f"{request.url.path} does not take {request.method}; see /api/v1/openapi.json"
    return problem(WrongMethod(text), request_id_of(request))


async def no_hosts(socket: HostSocket, name: str, kinds: Sequence[str]) -> None:
    """What an application does with hosts of environments if nobody says."""


def _middleware(options: AppOptions) -> list[Middleware]:
    if not options.is_api:
        return []
    found = [Middleware(WebUi)]
    if options.cors_origins or options.url_tokens:
        around = Middleware(
            surface.Surface, origins=options.cors_origins, url_tokens=options.url_tokens
        )
        found.insert(0, around)
    return found


def create_app(
    engine: Engine,
    attempts: Attempts,
    options: AppOptions,
    *,
    link: LinkPlane,
    commands: Commands,
    blobs: Blobs,
    places: Places,
    env_host_offer: Offer = no_hosts,
    workers_changed: Callable[[], None] = lambda: None,
) -> Starlette:
    """An ASGI application; whoever runs it also keeps the engine running."""
    # A process that only runs the control plane still says how it is.
    surfaces = [*NATIVE, *unserved.ROUTES, *memoh.ROUTES, *pocketflow.ROUTES]
    surfaces.sort(key=lambda route: not route.often)
    routes = surfaces if options.is_api else system.HEALTH
    served: list[BaseRoute] = [serve(route) for route in routes]
    if options.is_api:
        served.append(WebSocketRoute("/ws/worker", worker_link))
        served.append(WebSocketRoute("/ws/env-host", env_host_link))
        served.append(WebSocketRoute("/api/v1/envs/sessions/{id}/cdp", drive_browser))
    app = Starlette(
        routes=served,
        exception_handlers={404: no_such_path, 405: no_such_method},
        middleware=_middleware(options),
    )
    context = ServerContext(
        engine=engine,
        attempts=attempts,
        link=link,
        commands=commands,
        blobs=blobs,
        places=places,
        env_host_offer=env_host_offer,
        trust=options.trust,
        auth=Auth(
            engine,
            required=options.auth_required,
            admin_token=options.admin_token,
            session_s=options.session_s,
        ),
        login_limiter=LoginLimiter(options.login_tries),
        control=ControlCheck(engine, is_here=options.is_control),
        metrics=Metrics(),
        presence=Presence(engine),
        polls=Polls(),
        stops=Stops(engine.feed),
        push_allow=options.push_allow,
        body_bytes_max=options.body_bytes_max,
        workers_changed=workers_changed,
        openapi=openapi(NATIVE),
    )
    context.add(
        nodes.Manifests(engine), stream.Hub(engine), events.TenantEvents(engine, link, commands)
    )
    link.keep_parameters = parameters.Parameters(engine, blobs).keep
    app.state.context = context
    return app

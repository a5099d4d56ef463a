"""The server itself: tokens, information, health, metrics, the API's own description."""

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from windlass import __version__
from windlass.model.access import Token
from windlass.model.errors import Unavailable
from windlass.model.tenants import ALL
from windlass.protocol.api import (
    InfoView,
    OkView,
    Page,
    TokenBody,
    TokenMadeView,
    TokenView,
)
from windlass.server.api.tenants import tenant_for
from windlass.server.audit import line
from windlass.server.auth import ROLES
from windlass.server.caller import engine_of, who
from windlass.server.context import context_of
from windlass.server.http import read_json, reply
from windlass.server.paging import fetch_page
from windlass.server.routes import Route


async def create_token(request: Request) -> Response:
    """Make a token; its text is shown this once."""
    body = await read_json(request, TokenBody)
    tenant = await tenant_for(request, body.tenant)
    token, text = await context_of(request).auth.create(
        body.name,
        body.role,
        body.expires_in_s,
        body.fingerprint,
        body.workers,
        tenant,
        noted=lambda token: line(
            request, "token.create", "token", token.id, name=token.name, role=token.role
        ),
    )
    return reply(TokenMadeView(id=token.id, token=text), 201)


async def list_tokens(request: Request) -> Response:
    """Tokens, newest first, without their texts."""
    rows, next_ = await fetch_page(request, Token, size=100)
    items = [
        TokenView(
            id=row.id,
            name=row.name,
            role=row.role,
            workers=row.workers,
            created_at=row.created_at,
            expires_at=row.expires_at,
            revoked_at=row.revoked_at,
            tenant=row.tenant,
        )
        for row in rows
    ]
    return reply(Page(items=items, next=next_))


async def revoke_token(request: Request) -> Response:
    """Make a token useless."""
    token_id = request.path_params["id"]
    noted = line(request, "token.revoke", "token", token_id)
    await context_of(request).auth.revoke(engine_of(request), token_id, noted)
    return reply(OkView())


async def info(request: Request) -> Response:
    """What this server is."""
    engine = engine_of(request)
    view = InfoView(
        version=__version__,
        store=type(engine.system.store).__name__.removesuffix("Store").lower(),
        blobs=context_of(request).blobs.where,
        lease_s=engine.settings.lease_s,
        auth=context_of(request).auth.required,
        roles=list(ROLES),
    )
    return reply(view)


async def healthz(request: Request) -> Response:
    """Alive: this process answers."""
    return PlainTextResponse("ok\n")


async def readyz(request: Request) -> Response:
    """Ready: the database answers too, what was asked for gets done, and every loop goes round."""
    engine = engine_of(request)
    try:
        await engine.system.store.query("next_due", now=engine.store.now())
    except Unavailable as error:
        return PlainTextResponse(f"not ready: {error}\n", 503)
    behind_s = engine.advance.behind_s
    if behind_s > engine.settings.behind_s_max:
        return PlainTextResponse(f"not ready: nothing was committed for {behind_s:.0f} s\n", 503)
    failing = engine.duties.failing(engine.settings.behind_s_max)
    if failing:
        what = "; ".join(f"{duty.name} fails: {duty.error:.200}" for duty in failing)
        return PlainTextResponse(f"not ready: {what}\n", 503)
    return PlainTextResponse("ready\n")


async def metrics(request: Request) -> Response:
    """Prometheus metrics. What names the workers and nodes of all tenants is for operators of the
    whole system."""
    engine = engine_of(request)
    everybodys = who(request).home == ALL or len(engine.tenants.names) == 1
    link = context_of(request).link.metric_lines() if everybodys else ()
    return PlainTextResponse(await context_of(request).metrics.text(engine, link))


async def landing(request: Request) -> Response:
    """What a browser sees at the door."""
    return PlainTextResponse(
        f"Windlass {__version__}\n\n"
        "  /api/v1/runs?q=       runs, newest first\n"
        "  /api/v1/flows         flows\n"
        "  /api/v1/checkpoints   what waits for people\n"
        "  /api/v1/workers       workers\n"
        "  /api/v1/openapi.json  the whole API\n"
        "  /metrics  /healthz  /readyz\n\n"
        "From a terminal: windlass run ls, windlass why RUN, windlass inbox ls\n"
    )


async def openapi(request: Request) -> Response:
    """The OpenAPI 3.1 description of this API."""
    return reply(context_of(request).openapi)


HEALTH = [
    Route("GET", "/healthz", healthz, None),
    Route("GET", "/readyz", readyz, None),
    Route("GET", "/metrics", metrics, "viewer"),
]
ROUTES = [
    Route("POST", "/api/v1/tokens", create_token, "admin", TokenBody, TokenMadeView, 201),
    Route(
        "GET",
        "/api/v1/tokens",
        list_tokens,
        "admin",
        gives=Page[TokenView],
        query=("limit", "cursor"),
    ),
    Route("DELETE", "/api/v1/tokens/{id}", revoke_token, "admin", None, OkView),
    Route("GET", "/api/v1/info", info, None, gives=InfoView),
    Route("GET", "/api/v1/openapi.json", openapi, None),
    Route("GET", "/", landing, None),
    *HEALTH,
]

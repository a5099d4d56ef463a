"""Tenants: listed and made by operators of the whole system."""

from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response

from windlass.model.errors import Conflict, Denied, NotFound
from windlass.model.tenants import ALL, DEFAULT, Tenant, check_tenant
from windlass.protocol.api import Page, TenantBody, TenantChangeBody, TenantView
from windlass.server.audit import line
from windlass.server.caller import engine_of, who
from windlass.server.http import read_json, reply
from windlass.server.paging import fetch_page
from windlass.server.routes import Route


def check_operator(request: Request) -> None:
    """Refuse whoever belongs to a tenant."""
    if who(request).home != ALL:
        raise Denied("this is for operators of the whole system, whose tenant is *")


async def create(request: Request) -> Response:
    """Add a tenant; what it has is nobody else's to see."""
    check_operator(request)
    body = await read_json(request, TenantBody)
    made = await make(request, check_tenant(body.name), body.description, body.weight)
    if made is None:
        raise Conflict(f'there is a tenant "{body.name}" already')
    return reply(tenant_view(made), 201)


async def list_tenants(request: Request) -> Response:
    """Tenants by name."""
    check_operator(request)
    rows, next_ = await fetch_page(
        request, Tenant, descending=False, size=100, engine=engine_of(request).system
    )
    return reply(Page(items=[tenant_view(row) for row in rows], next=next_))


async def change(request: Request) -> Response:
    """Say how much of what is free a tenant gets."""
    check_operator(request)
    body = await read_json(request, TenantChangeBody)
    engine = engine_of(request).system
    name = check_tenant(request.path_params["name"])
    if name == DEFAULT:
        await make(request, DEFAULT)
    noted = line(request, "tenant.weight", "tenant", name, weight=body.weight)
    row = await engine.update(Tenant, name, lambda row: replace(row, weight=body.weight), noted)
    if row is None:
        raise NotFound(f'there is no tenant "{name}"')
    await engine.refresh_tenants()
    return reply(tenant_view(row))


def tenant_view(row: Tenant) -> TenantView:
    return TenantView(
        name=row.id, description=row.description, created_at=row.created_at, weight=row.weight
    )


async def make(
    request: Request, name: str, description: str = "", weight: int = 1
) -> Tenant | None:
    """Make a tenant known; None if it is already."""
    engine = engine_of(request).system
    async with engine.store.session() as session:
        if await session.rows(Tenant, [name]):
            return None
    now = engine.store.now()
    row = Tenant(id=name, description=description, created_at=now, weight=weight)
    await engine.write(row, line(request, "tenant.create", "tenant", name))
    await engine.refresh_tenants()
    return row


async def tenant_for(request: Request, asked: str) -> str:
    """The tenant that somebody new is to belong to; one that is new itself is made."""
    caller = who(request)
    if not asked or asked == caller.tenant:
        return caller.tenant
    if caller.home != ALL:
        raise Denied(f'"{caller.name}" acts in the tenant "{caller.home}" only')
    if asked not in (ALL, DEFAULT):
        await make(request, check_tenant(asked))
    return asked


ROUTES = [
    Route("POST", "/api/v1/tenants", create, "admin", TenantBody, TenantView, 201),
    Route("PATCH", "/api/v1/tenants/{name}", change, "admin", TenantChangeBody, gives=TenantView),
    Route(
        "GET",
        "/api/v1/tenants",
        list_tenants,
        "admin",
        gives=Page[TenantView],
        query=("limit", "cursor"),
    ),
]

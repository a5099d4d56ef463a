"""Flows: push, validate, list, read."""

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from windlass.dialects.flow import compile_flow, read_definition
from windlass.engine import flows
from windlass.engine.engine import Engine
from windlass.model.errors import BadRequest
from windlass.model.rows import Flow, Version
from windlass.ports.store import Cond
from windlass.protocol.api import (
    FlowView,
    Page,
    PublishedView,
    ValidView,
    VersionBody,
    VersionView,
)
from windlass.server.http import parse_json, read_body, reply
from windlass.server.paging import fetch_page
from windlass.server.routes import Route


def engine_of(request: Request) -> Engine:
    engine: Engine = request.app.state.engine
    return engine


async def read_version(request: Request) -> tuple[object, VersionBody]:
    """A definition from the body: JSON around it, or YAML text by itself."""
    body = await read_body(request, request.app.state.body_bytes_max)
    if "yaml" in request.headers.get("content-type", ""):
        try:
            text = body.decode()
        except UnicodeDecodeError as error:
            raise BadRequest(f"the body is not UTF-8: {error}") from error
        return read_definition(text, yaml=True), VersionBody(definition=msgspec.Raw(b"{}"))
    version = parse_json(body, VersionBody)
    return msgspec.json.decode(version.definition), version


async def push(request: Request) -> Response:
    """Publish a definition as the newest version of a flow, which is made if it is new."""
    definition, body = await read_version(request)
    if body.status not in ("published", "draft"):
        raise BadRequest(f'status "{body.status}" is neither "published" nor "draft"')
    done = await flows.publish(
        engine_of(request),
        request.path_params["name"],
        definition,
        description=body.description,
        status=body.status,
    )
    view = PublishedView(
        flow_id=done.flow.id,
        flow=done.flow.name,
        version=done.version.number,
        version_id=done.version.id,
        created=done.created,
    )
    return reply(view, 201 if done.created else 200)


async def validate(request: Request) -> Response:
    """Check a definition without keeping it; all its problems at once."""
    definition, _ = await read_version(request)
    graph = compile_flow(definition)
    return reply(ValidView(ok=True, nodes=len(graph.nodes), params=flows.params_used(graph)))


async def list_flows(request: Request) -> Response:
    """Flows, newest first, with how many versions each has."""
    text = request.query_params.get("q")
    where = [Cond("name", "like", like(text))] if text else []
    rows, next_ = await fetch_page(request, Flow, where)
    return reply(Page(items=await flow_views(engine_of(request), rows), next=next_))


def like(text: str) -> str:
    """A pattern for text anywhere; `*` stands for anything."""
    safe = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return safe.replace("*", "%") if "*" in text else f"%{safe}%"


async def flow_views(engine: Engine, rows: list[Flow]) -> list[FlowView]:
    counts = await engine.store.query("flow_versions", flow_ids=[row.id for row in rows])
    by_flow = {count["flow_id"]: count for count in counts}
    return [
        FlowView(
            id=row.id,
            name=row.name,
            description=row.description,
            created_at=row.created_at,
            versions=by_flow.get(row.id, {}).get("n", 0),
            latest=by_flow.get(row.id, {}).get("latest", 0),
        )
        for row in rows
    ]


async def get_flow(request: Request) -> Response:
    """One flow by name or id."""
    engine = engine_of(request)
    flow = await flows.find_flow(engine, request.path_params["name"])
    return reply((await flow_views(engine, [flow]))[0])


async def list_versions(request: Request) -> Response:
    """The versions of a flow, newest first."""
    flow = await flows.find_flow(engine_of(request), request.path_params["name"])
    where = [Cond("flow_id", "=", flow.id)]
    rows, next_ = await fetch_page(request, Version, where, order="number")
    return reply(Page(items=[version_view(flow, row) for row in rows], next=next_))


async def get_version(request: Request) -> Response:
    """One version with its definition."""
    engine = engine_of(request)
    flow = await flows.find_flow(engine, request.path_params["name"])
    number = request.path_params["number"]
    if not number.isdecimal() or len(number) > 9:
        raise BadRequest(f'version "{number}" is not a whole number')
    return reply(version_view(flow, await flows.find_version(engine, flow, int(number))))


def version_view(flow: Flow, row: Version) -> VersionView:
    return VersionView(
        version_id=row.id,
        flow=flow.name,
        version=row.number,
        dialect=row.dialect,
        status=row.status,
        created_at=row.created_at,
        definition=msgspec.Raw(row.source.encode()),
    )


_AT = "/api/v1/flows"
ROUTES = [
    Route("POST", f"{_AT}/validate", validate, "viewer", VersionBody, ValidView),
    Route("POST", _AT + "/{name}/versions", push, "operator", VersionBody, PublishedView, 201),
    Route("GET", _AT, list_flows, gives=Page[FlowView], query=("q", "limit", "cursor")),
    Route("GET", _AT + "/{name}", get_flow, gives=FlowView),
    Route(
        "GET",
        _AT + "/{name}/versions",
        list_versions,
        gives=Page[VersionView],
        query=("limit", "cursor"),
    ),
    Route("GET", _AT + "/{name}/versions/{number}", get_version, gives=VersionView),
]

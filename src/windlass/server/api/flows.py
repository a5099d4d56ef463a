"""Flows: push, validate, list, read."""

from functools import partial

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from windlass.dialects.flow import compile_flow
from windlass.dialects.workflow import check_workflow, inputs_schema, resolve
from windlass.engine import flows, workflows
from windlass.engine.catalog import catalog_of, packages_named
from windlass.engine.compiling import compiled, read_text
from windlass.engine.engine import Engine
from windlass.model.errors import BadRequest
from windlass.model.rows import Flow, Version
from windlass.model.values import is_object
from windlass.ports.store import Cond
from windlass.protocol.api import (
    FlowView,
    Page,
    PublishedView,
    ValidView,
    VersionBody,
    VersionView,
    WarningView,
)
from windlass.server.audit import version_line
from windlass.server.caller import engine_of
from windlass.server.context import context_of
from windlass.server.http import parse_json, read_body, reply
from windlass.server.paging import fetch_newest, fetch_page, like
from windlass.server.routes import Route


async def read_version(request: Request) -> tuple[object, VersionBody]:
    """A definition from the body: JSON around it, or YAML text by itself."""
    body = await read_body(request, context_of(request).body_bytes_max)
    if "yaml" in request.headers.get("content-type", ""):
        try:
            text = body.decode()
        except UnicodeDecodeError as error:
            raise BadRequest(f"the body is not UTF-8: {error}") from error
        return await read_text(text, yaml=True), VersionBody(definition=msgspec.Raw(b"{}"))
    version = parse_json(body, VersionBody)
    if version.dialect not in ("flow", "workflow"):
        raise BadRequest(f'no dialect "{version.dialect}"; there are flow and workflow')
    return msgspec.json.decode(version.definition), version


async def push(request: Request) -> Response:
    """Publish a definition as the newest version of a flow, which is made if it is new."""
    definition, body = await read_version(request)
    name = request.path_params["name"]
    if body.status not in ("published", "draft"):
        raise BadRequest(f'status "{body.status}" is neither "published" nor "draft"')
    if body.dialect == "workflow":
        target, created = await push_workflow(request, name, definition, body)
    else:
        done = await flows.publish(
            engine_of(request),
            name,
            definition,
            description=body.description,
            status=body.status,
            along=partial(version_line, request, "flow.publish", "flow"),
        )
        target, created = done.target, done.created
    view = PublishedView(
        flow_id=target.flow_id,
        flow=target.flow_name,
        version=target.number,
        version_id=target.version_id,
        created=created,
    )
    return reply(view, 201 if created else 200)


async def push_workflow(
    request: Request, name: str, definition: object, body: VersionBody
) -> tuple[flows.Startable, bool]:
    """A workflow brings its id and name along; the path only says the same once more."""
    if is_object(definition) and isinstance(definition.get("id"), str):
        own = (str(definition["id"]).lower(), workflows.name_of(definition))
        if name.lower() != own[0] and name != own[1]:
            text = f'the path names "{name}", the workflow is "{own[1]}" ({own[0]})'
            raise BadRequest(f"{text}; publish it under its own name or id")
    draft = body.status == "draft"
    along = partial(version_line, request, "flow.publish", "flow")
    done = await workflows.publish_workflow(
        engine_of(request), definition, draft=draft, along=along
    )
    return done.target, done.created


async def validate(request: Request) -> Response:
    """Check a definition without keeping it; all its problems at once."""
    definition, body = await read_version(request)
    if body.dialect == "workflow":
        names = packages_named(definition)
        engine = engine_of(request)
        catalog = await catalog_of(engine, names)
        locked = await compiled(definition, lambda: resolve(definition, catalog))
        strict = engine.settings.strict_workflows
        graph, warnings = await compiled(
            definition, lambda: check_workflow(definition, locked, strict=strict)
        )
    else:
        graph, warnings = await compiled(definition, lambda: compile_flow(definition)), ()
    view = ValidView(
        ok=True,
        nodes=len(graph.nodes),
        params=flows.params_used(graph),
        warnings=[WarningView(path=w.path, reason=w.reason, hint=w.hint) for w in warnings],
    )
    return reply(view)


async def list_flows(request: Request) -> Response:
    """Flows, newest first, with how many versions each has."""
    text = request.query_params.get("q")
    where = [Cond("name", "like", like(text))] if text else []
    rows, next_ = await fetch_newest(request, Flow, where)
    return reply(Page(items=await flow_views(engine_of(request), rows), next=next_))


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
    """The versions of a flow, newest first, without definitions."""
    flow = await flows.find_flow(engine_of(request), request.path_params["name"])
    where = [Cond("flow_id", "=", flow.id)]
    rows, next_ = await fetch_page(request, Version, where, order="number", heavy=False)
    return reply(Page(items=[version_view(flow, row) for row in rows], next=next_))


async def get_version(request: Request) -> Response:
    """One version with its definition."""
    engine = engine_of(request)
    flow = await flows.find_flow(engine, request.path_params["name"])
    number = request.path_params["number"]
    if not number.isdecimal() or len(number) > 9:
        raise BadRequest(f'version "{number}" is not a whole number')
    row = await flows.find_version(engine, flow, int(number))
    text = msgspec.Raw(row.source.encode())
    return reply(version_view(flow, row, text, declared_params(row)))


def version_view(
    flow: Flow, row: Version, text: msgspec.Raw | None = None, params: msgspec.Raw | None = None
) -> VersionView:
    return VersionView(
        version_id=row.id,
        flow=flow.name,
        version=row.number,
        dialect=row.dialect,
        status=row.status,
        created_at=row.created_at,
        definition=text,
        params_schema=params,
    )


def declared_params(row: Version) -> msgspec.Raw | None:
    """What the text says of its parameters; it was checked when it was published."""
    if row.dialect == "workflow":
        schema = inputs_schema(msgspec.json.decode(row.source))
        return None if schema is None else msgspec.Raw(msgspec.json.encode(schema))
    fields = msgspec.json.decode(row.source, type=dict[str, msgspec.Raw])
    found = (value for name, value in fields.items() if name.lower() == "params")
    return next((value for value in found if bytes(value) != b"null"), None)


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

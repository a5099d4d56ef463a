"""Flows and versions, PocketFlow's way."""

from functools import partial
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from windlass.dialects.flow import compile_flow
from windlass.engine import flows
from windlass.engine.compiling import compiled, read_text
from windlass.model.errors import BadRequest, DefinitionError, NotFound
from windlass.model.rows import Flow, Version
from windlass.model.values import is_object
from windlass.ports.store import Cond
from windlass.server.audit import line, version_line
from windlass.server.caller import engine_of
from windlass.server.compat.pocketflow.names import bare, number_field, seconds, text_field
from windlass.server.http import check_depth, reply, whole_number
from windlass.server.loose_fields import read_fields


def paging(request: Request) -> tuple[int, int]:
    """Page number and size, as this surface counts them."""
    page = whole_number(request, "page", 1, 1_000_000) or 1
    size = whole_number(request, "page_size", 10, 500) or 10
    return page, size


async def create(request: Request) -> Response:
    """Create a flow."""
    fields = await read_fields(request)
    name = text_field(fields, "Name", required=True)
    flow = await flows.create_flow(
        engine_of(request),
        name,
        text_field(fields, "Description"),
        noted=lambda flow: line(request, "flow.create", "flow", flow.id, name=flow.name),
    )
    return reply({"id": f"flow-{flow.id}"})


async def list_flows(request: Request) -> Response:
    """Flows, newest first, by page."""
    store = engine_of(request).store
    page, size = paging(request)
    rows = await store.page(
        Flow, order="created_at", descending=True, limit=size, offset=(page - 1) * size
    )
    data = [
        {
            "id": f"flow-{row.id}",
            "name": row.name,
            "description": row.description,
            "created_at": seconds(row.created_at),
        }
        for row in rows
    ]
    total = await store.count(Flow)
    return reply({"data": data, "total": total, "page": page, "size": size})


async def create_version(request: Request) -> Response:
    """Add a version from JSON or YAML text; a bad definition is refused with all its problems."""
    fields = await read_fields(request)
    engine = engine_of(request)
    flow_id = bare(text_field(fields, "FlowID", required=True), "flow")
    found = await engine.store.page(Flow, [Cond("id", "=", flow_id)], limit=1)
    if not found:
        raise NotFound(f'no flow "flow-{flow_id}"')
    definition = await definition_of(fields)
    await compiled(definition, lambda: compile_flow(definition))
    number = number_field(fields, "Version")
    status, source = text_field(fields, "Status"), flows.encode(definition)
    along = partial(version_line, request, "flow.publish", "flow")
    dialect, flow = flows.POCKETFLOW, found[0]
    if number > 0:
        version = await flows.add_version(
            engine, flow, number, source, status, dialect, along=along
        )
    else:
        version = await flows.add_next_version(engine, flow, source, status, dialect, along=along)
    return reply({"id": f"ver-{version.id}"})


async def definition_of(fields: dict[str, Any]) -> object:
    yaml = text_field(fields, "DefinitionYAML")
    if yaml:
        try:
            return await read_text(yaml, yaml=True)
        except DefinitionError as error:
            raise BadRequest(f"invalid yaml: {error}") from error
    given = fields.get("definitionjson")
    if is_object(given):
        return given
    if not isinstance(given, str) or not given:
        raise BadRequest("DefinitionJSON or DefinitionYAML is missing")
    return await read_text(given, yaml=False)


async def list_versions(request: Request) -> Response:
    """Versions of a flow, newest first."""
    flow_id = request.query_params.get("flow_id", "")
    if not flow_id:
        raise BadRequest("missing flow_id")
    where = [Cond("flow_id", "=", bare(flow_id, "flow"))]
    rows = await engine_of(request).store.page(
        Version, where, order="number", descending=True, limit=1000
    )
    return reply([version_json(row) for row in rows])


async def get_version(request: Request) -> Response:
    """One version."""
    version_id = request.query_params.get("id", "")
    if not version_id:
        raise BadRequest("missing id")
    where = [Cond("id", "=", bare(version_id, "ver"))]
    rows = await engine_of(request).store.page(Version, where, limit=1)
    if not rows:
        raise NotFound("not found")
    return reply(version_json(rows[0]))


def version_json(row: Version) -> dict[str, Any]:
    return {
        "id": f"ver-{row.id}",
        "flow_id": f"flow-{row.flow_id}",
        "version": row.number,
        "definition_json": row.source,
        "status": row.status,
    }


def params_text(value: Any) -> str:
    """Run parameters, given as an object or as JSON text of one."""
    if value is None or value == "":
        return "{}"
    if isinstance(value, str):
        check_depth(value.encode())
        try:
            value = msgspec.json.decode(value)
        except (msgspec.DecodeError, RecursionError) as error:
            raise BadRequest(f"ParamsJSON is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise BadRequest("ParamsJSON must be a JSON object")
    return msgspec.json.encode(value).decode()

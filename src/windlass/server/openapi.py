"""Draws the OpenAPI document from the routes."""

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from windlass import __version__
from windlass.protocol.api import ErrorView
from windlass.server.routes import Route


def openapi(routes: Sequence[Route]) -> dict[str, Any]:
    """An OpenAPI 3.1 document for the native API."""
    routes = [route for route in routes if route.path.startswith("/api/v1/")]
    types: set[Any] = {route.body for route in routes} | {route.gives for route in routes}
    ordered = sorted((types | {ErrorView}) - {None}, key=str)
    schemas, components = msgspec.json.schema_components(
        ordered, ref_template="#/components/schemas/{name}"
    )
    refs = dict(zip(ordered, schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = operation(route, refs)
    document = {
        "openapi": "3.1.0",
        "info": {"title": "Windlass", "version": __version__},
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }
    return renamed(document)


def renamed(document: dict[str, Any]) -> dict[str, Any]:
    """The document with `RunPage` where the generic type's own name reads `Page_RunView_`."""
    text = re.sub(rb"Page_(\w+?)View_", rb"\1Page", msgspec.json.encode(document))
    found: dict[str, Any] = msgspec.json.decode(text)
    return found


def operation(route: Route, refs: dict[Any, Any]) -> dict[str, Any]:
    summary = (route.handler.__doc__ or "").strip().splitlines()[0]
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in re.findall(r"{(\w+)}", route.path)
    ]
    parameters += [
        {"name": name, "in": "query", "schema": {"type": "string"}} for name in route.query
    ]
    answer: dict[str, Any] = {"description": "Done"}
    if route.gives is not None:
        answer["content"] = {"application/json": {"schema": refs[route.gives]}}
    failure = {"application/problem+json": {"schema": refs[ErrorView]}}
    found: dict[str, Any] = {
        "operationId": f"{route.handler.__module__.rpartition('.')[2]}_{route.handler.__name__}",
        "summary": summary,
        "responses": {
            str(route.status): answer,
            "default": {"description": "Refused", "content": failure},
        },
    }
    if parameters:
        found["parameters"] = parameters
    if route.body is not None:
        found["requestBody"] = {"content": {"application/json": {"schema": refs[route.body]}}}
    if route.role is not None:
        found["security"] = [{"token": []}]
        found["x-role"] = route.role
    return found

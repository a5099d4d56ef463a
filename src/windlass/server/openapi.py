"""Draws the OpenAPI document from the routes."""

import re
from collections.abc import Sequence
from typing import Any, TypeGuard

import msgspec

from windlass import __version__
from windlass.protocol.api import ErrorView
from windlass.server.routes import Route


def openapi(routes: Sequence[Route]) -> dict[str, Any]:
    """An OpenAPI 3.1 document for the native API."""
    routes = [route for route in routes if route.path.startswith("/api/v1/")]
    types = {type_ for route in routes for one in (route.body, route.gives) for type_ in each(one)}
    ordered = sorted(types | {ErrorView}, key=str)
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


def each(given: Any) -> tuple[Any, ...]:
    """The types a route names: none, one, or a tuple of them."""
    if is_several(given):
        return given
    return () if given is None else (given,)


def is_several(given: object) -> TypeGuard[tuple[Any, ...]]:
    return isinstance(given, tuple)


def schema_of(given: Any, refs: dict[Any, Any]) -> dict[str, Any]:
    found = [refs[type_] for type_ in each(given)]
    # Not oneOf: shapes may overlap, and a document that fits both is none the worse for it.
    return found[0] if len(found) == 1 else {"anyOf": found}


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
        answer["content"] = {"application/json": {"schema": schema_of(route.gives, refs)}}
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
        found["requestBody"] = {
            "content": {"application/json": {"schema": schema_of(route.body, refs)}}
        }
    if route.role is not None:
        found["security"] = [{"token": []}]
        found["x-role"] = route.role
    return found

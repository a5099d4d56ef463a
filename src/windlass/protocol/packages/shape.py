"""The shape of manifest.json as a JSON Schema, which takes both forms that packages come in.

The older form names runtimes on adapters and nodes; the newer one names an adapter and a handler on
each node. What a schema cannot say is checked in `checks`.
"""

from typing import Any

from windlass.protocol.packages.names import (
    ENTRY_PATTERN,
    NAME_CHARS_MAX,
    OBJECT_PATTERN,
    PACKAGE_PATTERN,
    TYPE_PATTERN,
)
from windlass.protocol.packages.versions import LENGTH_MAX
from windlass.protocol.packages.versions import PATTERN as VERSION_PATTERN

Schema = dict[str, Any]

TEXT: Schema = {"type": "string", "maxLength": 20_000}
ANY: Schema = {"type": "object"}
TEXTS: Schema = {"type": "array", "items": TEXT, "maxItems": 1000}


def whole(pattern: str, length_max: int = 200) -> Schema:
    return {"type": "string", "pattern": f"^({pattern})$", "maxLength": length_max}


def closed(required: tuple[str, ...] = (), **properties: Schema) -> Schema:
    """An object with these fields; others must begin with `x-`, so that a slip is noticed."""
    return {
        "type": "object",
        "properties": properties,
        "patternProperties": {"^x-": True},
        "required": list(required),
        "additionalProperties": False,
    }


def some(item: Schema, *, least: int = 0) -> Schema:
    return {"type": "array", "items": item, "minItems": least, "maxItems": 1000}


ADAPTER = closed(
    ("name", "entrypoint"),
    name=whole(TYPE_PATTERN),
    runtime=TEXT,
    entrypoint=whole(ENTRY_PATTERN),
    capabilities=some(whole(TYPE_PATTERN)),
    description=TEXT,
    idempotency=TEXT,
    metadata=ANY,
)

BINDING = closed(
    ("path",),
    path=TEXT,
    mode={"enum": ["read", "write", "two_way"]},
    prefix=TEXT,
    scope={},
)
PORT = closed(("key",), key=TEXT, label=TEXT, binding=BINDING, description=TEXT, metadata=ANY)
WIDGET = closed(
    ("key", "component"),
    key=TEXT,
    label=TEXT,
    component=TEXT,
    binding=BINDING,
    options=ANY,
    metadata=ANY,
)

NODE = closed(
    ("type",),
    type=whole(TYPE_PATTERN),
    role={"enum": ["node", "container", "middleware"]},
    status=TEXT,
    category=TEXT,
    label=TEXT,
    description=TEXT,
    tags=TEXTS,
    adapter=whole(TYPE_PATTERN),
    handler=whole(OBJECT_PATTERN),
    runtimes={
        "type": "object",
        "additionalProperties": closed(config=ANY, handler=whole(OBJECT_PATTERN)),
    },
    config=ANY,
    schema=closed(
        parameters={"type": ["object", "boolean"]}, results={"type": ["object", "boolean"]}
    ),
    ui=closed(inputPorts=some(PORT), outputPorts=some(PORT), widgets=some(WIDGET)),
    conditions=ANY,
    extensions=ANY,
    metadata=ANY,
)

RESOURCE = closed(("path", "type"), path=TEXT, type=TEXT, sha256=TEXT, url=TEXT)

MANIFEST = closed(
    ("name", "version", "adapters", "nodes"),
    name=whole(PACKAGE_PATTERN, NAME_CHARS_MAX),
    version=whole(VERSION_PATTERN, LENGTH_MAX),
    schemaVersion=whole(r"[0-9]+(\.[0-9]+)*"),
    description=TEXT,
    license=TEXT,
    author=TEXT,
    homepage=TEXT,
    adapters=some(ADAPTER, least=1),
    nodes=some(NODE, least=1),
    python=closed(requires=TEXT, dependencies=TEXTS),
    requirements=ANY,
    resources={"anyOf": [some(RESOURCE), closed(defaults=ANY, files=some(RESOURCE))]},
    hooks=closed(install=TEXTS, uninstall=TEXTS),
    signature=ANY,
    metadata=ANY,
)

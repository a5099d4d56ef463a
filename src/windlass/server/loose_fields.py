"""Bodies whose fields may be written in any spelling."""

from typing import Any

import msgspec
from starlette.requests import Request

from windlass.model.errors import BadRequest
from windlass.model.values import is_object
from windlass.server.context import context_of
from windlass.server.http import check_depth, read_body


async def read_fields(request: Request) -> dict[str, Any]:
    """A JSON object whose keys may be written FlowID, flowid or flow_id."""
    body = await read_body(request, context_of(request).body_bytes_max)
    check_depth(body)
    try:
        given = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadRequest(f"the body is not JSON: {error}") from error
    if not is_object(given):
        raise BadRequest("the body must be a JSON object")
    return spelled_alike(given)


def spelled_alike(given: dict[str, Any]) -> dict[str, Any]:
    return {key.lower().replace("_", ""): value for key, value in given.items()}

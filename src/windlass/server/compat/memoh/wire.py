"""Bodies, errors and moments as this surface has them."""

from typing import Any, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from windlass.engine.keys import Keyed
from windlass.model.errors import BadRequest, DefinitionError, Unavailable
from windlass.model.times import iso
from windlass.model.values import is_object
from windlass.server.caller import engine_of
from windlass.server.http import read_json, reply, status_of


class Body(msgspec.Struct, frozen=True, kw_only=True):
    """What every change is asked for with."""

    idempotency_key: str = ""


B = TypeVar("B", bound=Body)


def message(error: Exception, request_id: str) -> Response:
    """An error as one line of text; a definition's problems are a bad request here."""
    del request_id
    status, _, title = status_of(error)
    if isinstance(error, DefinitionError):
        status = 400
    text = title if status == 500 else str(error)
    headers = {"Retry-After": "2"} if isinstance(error, Unavailable) else None
    return reply({"message": text}, status, headers)


async def read_change(request: Request, type_: type[B], **path: str) -> B:
    """The body of a change: it has a key, and names nothing else than the path does."""
    body = read_body_of(type_, await read_json(request, dict[str, Any]), path)
    if not body.idempotency_key.strip():
        raise BadRequest("idempotency_key is required")
    return body


def read_body_of(type_: type[B], given: dict[str, Any], path: dict[str, str]) -> B:
    """A body as it is compared with others under the same key: what says the same is the same."""
    tidied = tidy(given)
    for name, value in path.items():
        named = tidied.get(name) or value
        # Of a run's id nobody means another by writing it in capitals; an alias is as it is.
        if named != value and not (name == "run_id" and str(named).lower() == value):
            raise BadRequest(f"{name} in the body is not the one in the path")
        tidied[name] = value
    try:
        return msgspec.convert(tidied, type_)
    except msgspec.ValidationError as error:
        raise BadRequest(f"the body does not fit: {error}") from error


_PARTS = frozenset({"hint"})
"""Fields that are fields of the request in their turn; all other objects are somebody's data."""
_DATA = frozenset({"input", "plan"})
"""Fields whose every value, also a text, is somebody's data."""


def tidy(given: dict[str, Any]) -> dict[str, Any]:
    """Fields without what means nothing: those that are null, and space around words."""
    found: dict[str, Any] = {}
    for name, value in given.items():
        if isinstance(value, str) and name not in _DATA:
            found[name] = value.strip()
        elif value is not None:
            found[name] = tidy(value) if name in _PARTS and is_object(value) else value
    return found


def keyed(request: Request, method: str, target: str, body: Body) -> Keyed:
    """The change under its key: the same again is answered the same, another is refused."""
    asked = msgspec.json.encode(body, order="sorted")
    return Keyed(engine_of(request), f"memoh {method} {target}", body.idempotency_key, asked)


def moment(unix_ms: int | None) -> str | None:
    return None if unix_ms is None else iso(unix_ms)


def decoded(text: str | None) -> Any:
    return None if text is None else msgspec.json.decode(text)

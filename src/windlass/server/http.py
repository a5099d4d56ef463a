"""Reading requests and writing answers: limits, JSON, and errors in one shape."""

import asyncio
import re
from collections.abc import Coroutine
from hashlib import sha256
from typing import Any, TypeVar, cast

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Message

from windlass.model.errors import (
    BadRequest,
    Conflict,
    DefinitionError,
    Denied,
    NotFound,
    NotInstalled,
    StaleLease,
    TooMuchWork,
    Unauthorized,
    Unavailable,
    WindlassError,
)
from windlass.model.values import DEPTH_MAX, depth_of, readable
from windlass.protocol.api import ErrorView, Problem
from windlass.protocol.packages.errors import PackageError
from windlass.server.context import context_of
from windlass.server.spelling import check_spelling

T = TypeVar("T")

NATIVE_TYPE = "application/vnd.windlass+json"
"""What callers accept who want our own shape where AstraFlow has another."""
_INLINE_BYTES = 256 * 1024
_PIECE_S = 30.0
"""How long a body may stand still before its caller is taken for gone."""
_REQUEST_ID = re.compile(r"[A-Za-z0-9._:/+=-]{1,128}")
_NUMBER = re.compile(r"-?[0-9]{1,18}")


class TooLarge(WindlassError):
    """A body over the limit."""


class TooMany(WindlassError):
    """More tries than are taken; time will help."""

    def __init__(self, what: str, retry_after_s: float) -> None:
        super().__init__(what)
        self.retry_after_s = retry_after_s


class WrongMethod(WindlassError):
    """A method a path does not take."""


async def read_body(request: Request, bytes_max: int) -> bytes:
    """The body, or `TooLarge` before more of it than allowed has been read."""
    stated = request.headers.get("content-length", "")
    if stated.isdecimal() and int(stated) > bytes_max:
        raise TooLarge(f"the body has {stated} bytes, at most {bytes_max} are taken")
    body = bytearray()
    while True:
        message = said_already(request)
        if message is None:
            try:
                async with asyncio.timeout(_PIECE_S):
                    message = await request.receive()
            except TimeoutError as error:
                raise BadRequest(f"the body did not go on for {_PIECE_S:.0f} s") from error
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        body += message.get("body", b"")
        if len(body) > bytes_max:
            raise TooLarge(f"the body has more than {bytes_max} bytes")
        if not message.get("more_body", False):
            return bytes(body)


def said_already(request: Request) -> Message | None:
    """The caller's next message if it is there; None if it would have to be waited for. Most are
    there, and are had without a deadline or a task for them. What has to be waited for is asked for
    anew, which loses nothing: our HTTP server keeps a message until somebody takes it."""
    receiving = cast(Coroutine[Any, None, Message], request.receive())
    try:
        receiving.send(None)
    except StopIteration as received:
        return cast(Message, received.value)
    receiving.close()
    return None


def check_depth(body: bytes) -> None:
    if depth_of(body) > DEPTH_MAX:
        raise BadRequest(f"the JSON is nested more than {DEPTH_MAX} levels deep")


def parse_json(body: bytes, type_: type[T], *, empty: bytes = b"{}", raw_checked: bool = True) -> T:
    """A body as a value. Parts of it that stay text are looked through as well, unless whoever
    asks does so with each of them."""
    if raw_checked:
        readable(body or empty, "the body")
    else:
        check_depth(body)
    try:
        value = msgspec.json.decode(body or empty, type=type_)
        check_spelling(body, type_)
        return value
    except msgspec.ValidationError as error:
        raise BadRequest(f"the body does not fit: {error}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadRequest(f"the body is not JSON: {error}") from error


async def read_json(request: Request, type_: type[T], *, raw_checked: bool = True) -> T:
    body = await read_body(request, context_of(request).body_bytes_max)
    if len(body) > _INLINE_BYTES:
        # Looking through megabytes takes a while; others should not wait for it.
        return await asyncio.to_thread(parse_json, body, type_, raw_checked=raw_checked)
    return parse_json(body, type_, raw_checked=raw_checked)


def reply(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(
        msgspec.json.encode(value), status, headers=headers, media_type="application/json"
    )


def reply_tagged(request: Request, value: Any) -> Response:
    """An answer under an `ETag` of what it says; 304 for callers who have it already."""
    body = msgspec.json.encode(value)
    etag = f'"sha256:{sha256(body).hexdigest()}"'
    headers = {"ETag": etag, "Cache-Control": "private, no-cache"}
    given = request.headers.get("if-none-match", "")
    if given.strip() == "*" or etag in given:
        return Response(status_code=304, headers=headers)
    return Response(body, headers=headers, media_type="application/json")


def wants_native(request: Request) -> bool:
    """Whether the caller asks for our own shape of what AstraFlow shapes in another way."""
    return NATIVE_TYPE in request.headers.get("accept", "")


def raw(text: str | None) -> msgspec.Raw | None:
    return None if text is None else msgspec.Raw(text.encode())


_STATUS: list[tuple[type[Exception], int, str, str]] = [
    (DefinitionError, 422, "invalid_definition", "The definition has problems"),
    (PackageError, 422, "invalid_package", "The package is refused"),
    (TooMuchWork, 422, "too_much_work", "One step would take too much"),
    (BadRequest, 400, "bad_request", "The request cannot be read"),
    (WrongMethod, 405, "method_not_allowed", "Wrong method"),
    (TooLarge, 413, "too_large", "The request is too large"),
    (TooMany, 429, "too_many_requests", "Too many tries"),
    (Unauthorized, 401, "unauthorized", "Who are you?"),
    (Denied, 403, "forbidden", "Not allowed"),
    (NotFound, 404, "not_found", "Not found"),
    (StaleLease, 409, "stale_lease", "The lease is gone"),
    (Conflict, 409, "conflict", "The state has changed"),
    (NotInstalled, 503, "not_installed", "Not installed here"),
    (Unavailable, 503, "unavailable", "Try again shortly"),
]


def status_of(error: Exception) -> tuple[int, str, str]:
    """The status, the word for programs and the title of an error."""
    for class_, status, word, title in _STATUS:
        if isinstance(error, class_):
            return status, word, title
    return 500, "internal_error", "Our mistake"


def problem(error: Exception, request_id: str = "") -> Response:
    """An error as RFC 9457 problem details. What we did not foresee keeps its details to itself."""
    status, word, title = status_of(error)
    detail = str(error) if status != 500 else "an internal error; the server's log has more"
    view = ErrorView(
        title=title,
        status=status,
        detail=detail,
        error=word,
        message=detail,
        request_id=request_id,
        retryable=isinstance(error, Unavailable),
        problems=[
            Problem(path=p.path, reason=p.reason, hint=p.hint)
            for p in (error.problems if isinstance(error, DefinitionError) else ())
        ],
    )
    headers: dict[str, str] = {}
    if isinstance(error, Unavailable | TooMany):
        headers["Retry-After"] = str(max(1, int(error.retry_after_s)))
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return Response(
        msgspec.json.encode(view), status, headers=headers, media_type="application/problem+json"
    )


def request_id_of(request: Request) -> str:
    """What the caller, or a proxy before us, calls a request; "" if nobody named it."""
    given = request.headers.get("x-request-id", "")
    return given if _REQUEST_ID.fullmatch(given) else ""


def number_of(text: str) -> int | None:
    """A whole number that a database can keep; None for any other text."""
    return int(text) if _NUMBER.fullmatch(text) else None


def page_limit(request: Request, default: int, most: int) -> int:
    """How many rows a page has; asking for none is a mistake, not a page."""
    limit = whole_number(request, "limit", default, most)
    if limit < 1:
        raise BadRequest("limit is at least 1")
    return limit


def whole_number(request: Request, name: str, default: int, most: int) -> int:
    """A number from the query string, refused rather than guessed when it is none."""
    text = request.query_params.get(name)
    if text is None or text == "":
        return default
    number = number_of(text)
    if number is None:
        raise BadRequest(f'{name}="{text:.40}" is not a whole number')
    return min(max(0, number), most)

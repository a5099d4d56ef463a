"""What this surface's clients expect around its answers: plain refusals, and, where the operator
allows it, calls from web pages and tokens in addresses."""

from collections.abc import Sequence
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import MutableHeaders
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from windlass.server.compat.pocketflow.routes import ROUTES
from windlass.server.http import reply

_PATHS = frozenset(route.path for route in ROUTES)
_OTHERS = ("/api/v1/", "/api/v1")
_TOKEN_PATH = "/t/"  # noqa: S105  where a token stands, not one


def is_here(path: str) -> bool:
    """Whether a path is one of this surface's, or would be if it had it."""
    return path in _PATHS or (path.startswith("/api/") and not path.startswith(_OTHERS))


def no_such_path() -> Response:
    return PlainTextResponse("404 page not found\n", 404)


def no_such_method(path: str) -> Response:
    text = "method not allowed" if path.removeprefix("/api").startswith("/queue/") else "method"
    return reply({"error": text}, 405)


class Surface:
    """Middleware over the whole application that touches this surface only."""

    def __init__(self, app: ASGIApp, *, origins: Sequence[str], url_tokens: bool) -> None:
        self._app = app
        self._origins = frozenset(origins)
        self._url_tokens = url_tokens

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            if self._url_tokens:
                scope = with_token(scope)
            allowed = self._allowed(scope)
            if allowed and scope["method"] == "OPTIONS":
                await Response(status_code=204, headers=allowed)(scope, receive, send)
                return
            if allowed:
                send = _adding(allowed, send)
        await self._app(scope, receive, send)

    def _allowed(self, scope: Scope) -> dict[str, str]:
        """Headers that let the page a request comes from read the answer."""
        if not self._origins or not is_here(scope["path"]):
            return {}
        given = dict(scope["headers"]).get(b"origin", b"").decode("latin-1")
        origin = "*" if "*" in self._origins else given if given in self._origins else ""
        if not origin:
            return {}
        return {
            "Access-Control-Allow-Origin": origin,
            "Access-Control-Allow-Headers": "Content-Type, Authorization",
            "Access-Control-Allow-Methods": "GET,POST,OPTIONS",
            "Vary": "Origin",
        }


def _adding(headers: dict[str, str], send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).update(headers)
        await send(message)

    return sending


def with_token(scope: Scope) -> Scope:
    """A request whose token stands in its address, as one that has it where it belongs.

    The address handed on holds no token any more, so neither logs nor errors do.
    """
    token, path = "", str(scope["path"])
    if path.startswith(_TOKEN_PATH):
        token, _, rest = path.removeprefix(_TOKEN_PATH).partition("/")
        path = "/" + rest
    if not is_here(path):
        return scope
    query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    named = [value for name, value in query if name == "token"]
    token = token or (named[0] if named else "")
    if not token:
        return scope
    kept = [(name, value) for name, value in query if name != "token"]
    headers = [(name, value) for name, value in scope["headers"] if name != b"authorization"]
    headers.append((b"authorization", b"Bearer " + token.encode()))
    return {
        **scope,
        "path": path,
        "raw_path": path.encode(),
        "query_string": urlencode(kept).encode(),
        "headers": headers,
    }

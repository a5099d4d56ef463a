"""The web UI: built files out of the package, for browsers only.

A browser asks for `text/html` and gets the one page of the UI at every place the UI has, and where
there is nothing at all; API clients do not, and keep what those paths have always answered. Files
under `/assets/` carry a hash in their name and never change; the page itself is asked for every
time. The page's `<base>` is relative to the place it was asked for, so the UI works under whatever
prefix a proxy puts before it, without being told.
"""

import mimetypes
import secrets
from pathlib import Path

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

DIST = Path(__file__).parent / "ui_dist"
PLACES = frozenset(
    [
        "",
        "runs",
        "flows",
        "inbox",
        "workers",
        "packages",
        "environments",
        "pods",
        "limits",
        "dead-letters",
        "settings",
    ]
)
"""First parts of the paths where the UI lives; everything else belongs to the API."""

_CSP = (
    "default-src 'self'; script-src 'self'; style-src 'self'{nonce}; img-src 'self' data:; "
    "connect-src 'self'; worker-src 'self'; object-src 'none'; base-uri 'self'; "
    "form-action 'self'; frame-ancestors 'none'"
)
_SAFE = {
    "Content-Security-Policy": _CSP.format(nonce=""),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
}
_MISSING = """<!doctype html><html lang="en"><title>Windlass</title>
<h1>The web UI is not built</h1>
<p>Build it in the checkout: <code>make ui</code>. It needs Node 20; an installed wheel has it.</p>
<p>The API is there: <a href="api/v1/openapi.json">api/v1/openapi.json</a></p></html>
"""


def path_of(scope: Scope) -> str:
    path: str = scope["path"].removeprefix(scope.get("root_path", ""))
    return path


class PageForNothing:
    """Sends what the application answers, or the UI's page instead of its 404: who follows a wrong
    link with a browser finds the way back."""

    def __init__(self, ui: "WebUi", scope: Scope, receive: Receive, send: Send) -> None:
        self._ui = ui
        self._scope = scope
        self._receive = receive
        self._send = send
        self._replaced = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] == 404:
            self._replaced = True
            page = self._ui.page(path_of(self._scope), 404)
            await page(self._scope, self._receive, self._send)
        elif not self._replaced:
            await self._send(message)


class WebUi:
    """Middleware that answers browsers and leaves everybody else to the application."""

    def __init__(self, app: ASGIApp, dist: Path = DIST) -> None:
        self._app = app
        self._dist = dist
        self._files: dict[str, tuple[int, bytes]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = self.answer(scope) if scope["type"] == "http" else None
        if response is None and scope["type"] == "http" and self.may_be_lost(scope):
            await self._app(scope, receive, PageForNothing(self, scope, receive, send))
        else:
            await (response or self._app)(scope, receive, send)

    def may_be_lost(self, scope: Scope) -> bool:
        """Whether somebody looks with a browser at a place that is no part of the API. A missing
        file is just that: a page in its stead would be taken for it."""
        path = path_of(scope)
        if scope["method"] != "GET" or path.startswith("/api/") or "." in path.rpartition("/")[2]:
            return False
        return "text/html" in Headers(scope=scope).get("accept", "")

    def answer(self, scope: Scope) -> Response | None:
        """The file or page a request is for; None when it is not for the UI."""
        if scope["method"] not in ("GET", "HEAD"):
            return None
        path = path_of(scope)
        if path.startswith("/assets/"):
            zipped = "gzip" in Headers(scope=scope).get("accept-encoding", "")
            return self._asset(path, zipped=zipped)
        place = path.split("/", 2)[1] if path.startswith("/") else ""
        if place in PLACES and "text/html" in Headers(scope=scope).get("accept", ""):
            return self.page(path)
        return None

    def page(self, path: str, status: int = 200) -> Response:
        """The one page of the UI, as asked for at a path."""
        index = self._read("index.html")
        if index is None:
            return HTMLResponse(_MISSING, 503, headers={"Cache-Control": "no-store"})
        base = "../" * (path.count("/") - 1) or "./"
        text = index.decode().replace('<base href="/"', f'<base href="{base}"', 1)
        # Editors make style elements, which are let in if they carry what this page was told.
        nonce = secrets.token_urlsafe(16)
        told = f'<meta name="style-nonce" content="{nonce}" />'
        text = text.replace("</title>", f"</title>{told}", 1)
        headers = {"Cache-Control": "no-cache", "Vary": "Accept", **_SAFE}
        headers["Content-Security-Policy"] = _CSP.format(nonce=f" 'nonce-{nonce}'")
        return HTMLResponse(text, status, headers=headers)

    def _asset(self, path: str, *, zipped: bool) -> Response:
        name = path.removeprefix("/")
        if "\0" in name:
            return Response("no name of a file\n", 400, headers=_SAFE)
        if ".." in name.split("/"):
            return Response(status_code=404)
        packed = self._read(name + ".gz") if zipped else None
        body = packed if packed is not None else self._read(name)
        if body is None:
            return Response("no such file; reload the page\n", 404, headers=_SAFE)
        headers = {"Cache-Control": "public, max-age=31536000, immutable", **_SAFE}
        headers["Vary"] = "Accept-Encoding"
        if packed is not None:
            headers["Content-Encoding"] = "gzip"
        kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
        return Response(body, headers=headers, media_type=kind)

    def _read(self, name: str) -> bytes | None:
        """A file of the build, kept in memory until it changes on disk."""
        file = self._dist / name
        try:
            changed = file.stat().st_mtime_ns
        except OSError:
            return None
        kept = self._files.get(name)
        if kept is None or kept[0] != changed:
            kept = self._files[name] = (changed, file.read_bytes())
        return kept[1]

"""The web UI: built files out of the package, for browsers only.

A browser asks for `text/html` and gets the one page of the UI at every place the UI has; API
clients do not, and keep what those paths have always answered. Files under `/assets/` carry a hash
in their name and never change; the page itself is asked for every time. The page's `<base>` is
relative to the place it was asked for, so the UI works under whatever prefix a proxy puts before
it, without being told.
"""

import mimetypes
from pathlib import Path

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

DIST = Path(__file__).parent / "ui_dist"
PLACES = frozenset({"", "runs", "flows", "inbox", "workers", "packages", "settings"})
"""First parts of the paths where the UI lives; everything else belongs to the API."""

_CSP = (
    "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; worker-src 'self'; object-src 'none'; base-uri 'self'; "
    "form-action 'self'; frame-ancestors 'none'"
)
_SAFE = {
    "Content-Security-Policy": _CSP,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
}
_MISSING = """<!doctype html><html lang="en"><title>Windlass</title>
<h1>The web UI is not built</h1>
<p>Build it in the checkout: <code>make ui</code>. It needs Node 20; an installed wheel has it.</p>
<p>The API is there: <a href="api/v1/openapi.json">api/v1/openapi.json</a></p></html>
"""


class WebUi:
    """Middleware that answers browsers and leaves everybody else to the application."""

    def __init__(self, app: ASGIApp, dist: Path = DIST) -> None:
        self._app = app
        self._dist = dist
        self._files: dict[str, tuple[int, bytes]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = self.answer(scope) if scope["type"] == "http" else None
        await (response or self._app)(scope, receive, send)

    def answer(self, scope: Scope) -> Response | None:
        """The file or page a request is for; None when it is not for the UI."""
        if scope["method"] not in ("GET", "HEAD"):
            return None
        path: str = scope["path"].removeprefix(scope.get("root_path", ""))
        headers = Headers(scope=scope)
        zipped = "gzip" in headers.get("accept-encoding", "")
        if path.startswith("/assets/"):
            return self._asset(path, zipped=zipped)
        place = path.split("/")[1] if path.startswith("/") else ""
        if place in PLACES and "text/html" in headers.get("accept", ""):
            return self._page(path)
        return None

    def _page(self, path: str) -> Response:
        index = self._read("index.html")
        if index is None:
            return HTMLResponse(_MISSING, 503, headers={"Cache-Control": "no-store"})
        base = "../" * (path.count("/") - 1) or "./"
        text = index.decode().replace('<base href="/"', f'<base href="{base}"', 1)
        headers = {"Cache-Control": "no-cache", "Vary": "Accept", **_SAFE}
        return HTMLResponse(text, headers=headers)

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

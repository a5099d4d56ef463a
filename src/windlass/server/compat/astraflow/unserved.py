"""Operations of AstraFlow's published API that there is nothing behind here: a 501 with the reason.

Its UI calls them; a plain 404 would read as if a thing it asks for were missing.
"""

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from windlass.protocol.api import ErrorView
from windlass.server.http import request_id_of
from windlass.server.routes import Handler, Route

_STORE = (
    "there is no store of workflows beside the library: push a version with"
    " POST /api/v1/flows/{id}/versions, read it with GET /api/v1/workflows/{id}"
)
_GC = "versions are kept, because runs may need them; yank those nobody should install any more"
_RESERVE = "a name belongs to whoever publishes its first version; there is nothing to reserve"
_PERMISSIONS = "packages are given no permissions; who may read a file is a property of the file"
_VAULT = "there is no vault: secrets belong to the environment of the workers that use them"
_HUB = "this server is connected to no hub; publish packages to it instead"

UNSERVED: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    (
        _STORE,
        (
            ("POST", "/workflows/{id}/publish"),
            ("GET", "/workflow-packages"),
            ("GET", "/workflow-packages/{id}"),
            ("DELETE", "/workflow-packages/{id}"),
            ("GET", "/workflow-packages/{id}/versions"),
            ("GET", "/workflow-packages/{id}/versions/{version}/definition"),
            ("POST", "/workflow-packages/{id}/clone"),
        ),
    ),
    (_GC, (("POST", "/published-packages/gc"),)),
    (_RESERVE, (("POST", "/published-packages/{name}/reserve"),)),
    (
        _PERMISSIONS,
        (
            ("GET", "/package-permissions"),
            ("POST", "/package-permissions"),
            ("DELETE", "/package-permissions/{id}"),
        ),
    ),
    (
        _VAULT,
        (
            ("GET", "/package-vault"),
            ("PUT", "/package-vault"),
            ("DELETE", "/package-vault/{name}/{key}"),
        ),
    ),
    (
        _HUB,
        (
            ("GET", "/registry/account"),
            ("POST", "/registry/account"),
            ("DELETE", "/registry/account"),
            ("POST", "/registry/workflows/import"),
            ("GET", "/hub/packages"),
            ("POST", "/hub/packages"),
            ("GET", "/hub/packages/{name}"),
            ("GET", "/hub/packages/{name}/versions/{version}"),
            ("GET", "/hub/packages/{name}/versions/{version}/archive"),
            ("GET", "/hub/packages/{name}/archive"),
            ("POST", "/hub/packages/{name}/versions/{version}/install"),
            ("POST", "/hub/packages/{name}/install"),
            ("GET", "/hub/workflows"),
            ("POST", "/hub/workflows"),
            ("GET", "/hub/workflows/{id}"),
            ("GET", "/hub/workflows/{id}/versions"),
            ("GET", "/hub/workflows/{id}/versions/{version}"),
            ("GET", "/hub/workflows/{id}/versions/{version}/definition"),
            ("GET", "/hub/workflows/{id}/definition"),
            ("POST", "/hub/workflows/{id}/versions/{version}/import"),
            ("POST", "/hub/workflows/{id}/import"),
        ),
    ),
)


def refusing(reason: str) -> Handler:
    async def refuse(request: Request) -> Response:
        view = ErrorView(
            title="Not served here",
            status=501,
            detail=reason,
            error="not_served",
            message=reason,
            request_id=request_id_of(request),
        )
        return Response(msgspec.json.encode(view), 501, media_type="application/problem+json")

    return refuse


ROUTES = [
    Route(method, f"/api/v1{path}", refusing(reason), status=501)
    for reason, paths in UNSERVED
    for method, path in paths
]

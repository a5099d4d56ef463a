"""Saved views of lists: those of whoever calls, and those that others of the tenant share."""

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from windlass.engine import saved_views
from windlass.engine.saved_views import ViewSettings
from windlass.model.errors import BadRequest, Denied
from windlass.model.saved_views import SavedView
from windlass.protocol.api import OkView
from windlass.protocol.views_api import (
    VIEWS_PATH,
    SavedViewBody,
    SavedViewChange,
    SavedViewList,
    SavedViewView,
)
from windlass.server.audit import line
from windlass.server.caller import engine_of, who
from windlass.server.http import read_json, reply
from windlass.server.routes import Route

PAGES = ("runs",)
"""Lists that have saved views."""


def owner_of(request: Request) -> str:
    """Whose views are meant: a person's, or, where a token is nobody's, the token's."""
    caller = who(request)
    return caller.user_id or f"token:{caller.name}"


async def list_views(request: Request) -> Response:
    """The caller's views of a list, and those that others share."""
    page = page_of(request.query_params.get("page", "runs"))
    owner = owner_of(request)
    found = await saved_views.views_for(engine_of(request), owner, page)
    return reply(SavedViewList(items=[view_view(view, owner) for view in found]))


async def create_view(request: Request) -> Response:
    """Keep a view under a name."""
    body = await read_json(request, SavedViewBody)
    check_shares(request, shared=body.shared)
    owner = owner_of(request)
    given = ViewSettings(
        name=body.name,
        query=body.query,
        columns=body.columns,
        sort=body.sort,
        shared=body.shared,
    )
    noted = line(request, "view.create", "view", name=body.name, shared=body.shared)
    view = await saved_views.create(engine_of(request), owner, page_of(body.page), given, noted)
    return reply(view_view(view, owner), 201)


async def change_view(request: Request) -> Response:
    """Rename a view of one's own, or change what it shows."""
    body = await read_json(request, SavedViewChange)
    check_shares(request, shared=bool(body.shared))
    owner, view_id = owner_of(request), request.path_params["id"]
    given = ViewSettings(
        name=body.name,
        query=body.query,
        columns=body.columns,
        sort=body.sort,
        shared=body.shared,
    )
    noted = line(request, "view.change", "view", view_id, name=body.name, shared=body.shared)
    view = await saved_views.change(engine_of(request), owner, view_id, given, noted)
    return reply(view_view(view, owner))


async def delete_view(request: Request) -> Response:
    """Delete a view of one's own."""
    view_id = request.path_params["id"]
    noted = line(request, "view.delete", "view", view_id)
    await saved_views.drop(engine_of(request), owner_of(request), view_id, noted)
    return reply(OkView())


def page_of(name: str) -> str:
    if name not in PAGES:
        raise BadRequest(f'no list "{name:.40}" has saved views; there is {", ".join(PAGES)}')
    return name


def check_shares(request: Request, *, shared: bool) -> None:
    if shared and not who(request).may("operator"):
        raise Denied("only operators share views with their tenant")


def view_view(view: SavedView, owner: str) -> SavedViewView:
    return SavedViewView(
        id=view.id,
        name=view.name,
        page=view.page,
        query=view.query,
        columns=msgspec.json.decode(view.columns, type=list[str]),
        sort=view.sort,
        shared=bool(view.shared),
        mine=view.owner == owner,
        updated_at=view.updated_at,
    )


_ONE = VIEWS_PATH + "/{id}"
ROUTES = [
    Route("GET", VIEWS_PATH, list_views, gives=SavedViewList, query=("page",)),
    Route("POST", VIEWS_PATH, create_view, "viewer", SavedViewBody, SavedViewView, 201),
    Route("PATCH", _ONE, change_view, "viewer", SavedViewChange, SavedViewView),
    Route("DELETE", _ONE, delete_view, "viewer", None, OkView),
]

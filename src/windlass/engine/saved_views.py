"""Saved views: kept, found, changed and dropped by their owners."""

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from windlass.engine.engine import Engine
from windlass.model.errors import BadRequest, Conflict, Denied, NotFound
from windlass.model.rows import Row
from windlass.model.saved_views import SavedView
from windlass.ports.store import Cond

VIEWS_MAX = 200
"""Of one owner."""
_NAME_MAX = 80
_QUERY_MAX = 4_000
_COLUMNS_MAX = 40
_WORD_MAX = 60


class ViewSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What an owner can say of a view; what is None stays."""

    name: str | None = None
    query: str | None = None
    columns: Sequence[str] | None = None
    sort: str | None = None
    shared: bool | None = None


async def views_for(engine: Engine, owner: str, page: str) -> list[SavedView]:
    """An owner's views and those that others share, by name."""
    mine = [Cond("page", "=", page), Cond("owner", "=", owner)]
    shared = [Cond("page", "=", page), Cond("shared", "=", 1), Cond("owner", "!=", owner)]
    found = [
        *await engine.store.page(SavedView, mine, limit=VIEWS_MAX),
        *await engine.store.page(SavedView, shared, limit=VIEWS_MAX),
    ]
    return sorted(found, key=lambda view: (view.name.lower(), view.id))


async def create(
    engine: Engine, owner: str, page: str, given: ViewSettings, *along: Row
) -> SavedView:
    now = engine.store.now()
    blank = SavedView(
        id=engine.new_id(),
        tenant=engine.tenant,
        owner=owner,
        page=page,
        name="",
        created_at=now,
        updated_at=now,
    )
    view = changed(blank, given, now)
    same = [Cond("owner", "=", owner), Cond("page", "=", page)]
    if await engine.store.count(SavedView, same) >= VIEWS_MAX:
        raise Conflict(f"there are {VIEWS_MAX} views already; delete some")
    await _check_free(engine, view)
    await engine.write(view, *along)
    return view


async def change(
    engine: Engine, owner: str, view_id: str, given: ViewSettings, *along: Row
) -> SavedView:
    before = await own_view(engine, owner, view_id)
    after = changed(before, given, engine.store.now())
    if after.name != before.name:
        await _check_free(engine, after)
    done = await engine.update(
        SavedView, before.id, lambda now: changed(now, given, engine.store.now()), *along
    )
    if done is None:
        raise NotFound(f'no view "{view_id}"')
    return done


async def drop(engine: Engine, owner: str, view_id: str, *along: Row) -> None:
    view = await own_view(engine, owner, view_id)
    await engine.write(*along, removed={SavedView: {view.id}})


async def own_view(engine: Engine, owner: str, view_id: str) -> SavedView:
    """A view by its id, which only its owner may change."""
    async with engine.store.session() as session:
        found = await session.rows(SavedView, [view_id])
    if not found or (found[0].owner != owner and not found[0].shared):
        raise NotFound(f'no view "{view_id}"')
    if found[0].owner != owner:
        raise Denied(f'the view "{found[0].name}" is shared by somebody else; save one of your own')
    return found[0]


async def _check_free(engine: Engine, view: SavedView) -> None:
    same = [Cond("owner", "=", view.owner), Cond("page", "=", view.page)]
    if await engine.store.count(SavedView, [*same, Cond("name", "=", view.name)]):
        raise Conflict(f'there is a view "{view.name}" already; change that one')


def changed(view: SavedView, given: ViewSettings, now: int) -> SavedView:
    """A view with what is given, checked."""
    name = view.name if given.name is None else given.name.strip()
    if not 1 <= len(name) <= _NAME_MAX or "\0" in name:
        raise BadRequest(f"a view's name has 1 to {_NAME_MAX} characters")
    query = view.query if given.query is None else given.query.strip()
    if len(query) > _QUERY_MAX or "\0" in query:
        raise BadRequest(f"a view's filter has at most {_QUERY_MAX} characters")
    words = [*(given.columns or ()), given.sort or ""]
    if len(words) > _COLUMNS_MAX or any(len(word) > _WORD_MAX or "\0" in word for word in words):
        raise BadRequest(f"a view has at most {_COLUMNS_MAX} columns, each a word")
    columns = view.columns if given.columns is None else msgspec.json.encode(given.columns).decode()
    return replace(
        view,
        name=name,
        query=query,
        columns=columns,
        sort=view.sort if given.sort is None else given.sort,
        shared=view.shared if given.shared is None else int(given.shared),
        updated_at=now,
    )

"""Pages of a list by key: `limit` rows after `cursor`, which is the `next` of the page before."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from starlette.requests import Request

from windlass.engine.engine import Engine
from windlass.model.errors import BadRequest
from windlass.model.rows import Row
from windlass.ports.store import Cond
from windlass.server.caller import engine_of
from windlass.server.http import number_of, page_limit

R = TypeVar("R", bound=Row)

_BATCH = 500
_CURSOR_CHARS_MAX = 2_000


async def fetch_page(
    request: Request,
    table: type[R],
    where: Sequence[Cond] = (),
    *,
    order: str = "id",
    descending: bool = True,
    size: int = 50,
    size_max: int = 500,
    engine: Engine | None = None,
    heavy: bool = True,
) -> tuple[list[R], Any]:
    """The rows a request asks for, and the cursor of the next page (None at the end);
    without their payloads if not `heavy`."""
    limit = page_limit(request, size, size_max)
    conditions = list(where)
    if (cursor := cursor_of(request, table, order)) is not None:
        conditions.append(Cond(order, "<" if descending else ">", cursor))
    rows = await (engine or engine_of(request)).store.page(
        table, conditions, order=order, descending=descending, limit=limit + 1, heavy=heavy
    )
    more = len(rows) > limit
    return rows[:limit], getattr(rows[limit - 1], order) if more else None


async def fetch_newest(
    request: Request, table: type[R], where: Sequence[Cond] = (), *, size: int = 50
) -> tuple[list[R], str | None]:
    """As `fetch_page`, for rows whose ids do not say when they were made: the newest first. Of
    those made in the same moment, the ids decide."""
    limit = page_limit(request, size, 500)
    store = engine_of(request).store
    rows: list[R] = []
    before: list[Cond] = []
    if place := _moment_of(request):
        at, id_ = place
        then = [*where, Cond("created_at", "=", at), Cond("id", "<", id_)]
        rows = await store.page(table, then, descending=True, limit=limit + 1)
        before = [Cond("created_at", "<", at)]
    if len(rows) <= limit:
        left = limit + 1 - len(rows)
        rows += await store.page(
            table, [*where, *before], order="created_at", descending=True, limit=left
        )
    if len(rows) <= limit:
        return rows, None
    last: Any = rows[limit - 1]
    return rows[:limit], f"{last.created_at}~{last.id}"


def cursor_text(request: Request) -> str:
    """Where the page before ended, as it was told; empty at the beginning."""
    text = request.query_params.get("cursor", "")
    if len(text) > _CURSOR_CHARS_MAX or "\0" in text:
        raise _no_place(text)
    return text


def _no_place(text: str) -> BadRequest:
    return BadRequest(f'cursor="{text:.40}" is not the "next" of a page')


def _moment_of(request: Request) -> tuple[int, str] | None:
    """Where a page of the newest ended: when its last row was made, and its id."""
    text = cursor_text(request)
    if not text:
        return None
    at, _, id_ = text.partition("~")
    moment = number_of(at)
    if moment is None or moment < 0 or not id_:
        raise _no_place(text)
    return moment, id_


def cursor_of(request: Request, table: type[Row], order: str) -> str | int | None:
    """Where the page before ended; None at the beginning. What is no such place is refused."""
    text = cursor_text(request)
    if not text:
        return None
    is_number = table.__annotations__.get(order) is int
    value = number_of(text) if is_number else text
    if value is None:
        raise _no_place(text)
    return value


async def fetch_filtered(
    request: Request,
    table: type[R],
    keep: Callable[[R], bool],
    where: Sequence[Cond] = (),
    *,
    order: str = "id",
    descending: bool = True,
    size: int = 50,
    size_max: int = 500,
    heavy: bool = True,
) -> tuple[list[R], Any]:
    """As `fetch_page`, with a condition that only a row read can be held against."""
    limit = page_limit(request, size, size_max)
    engine = engine_of(request)
    after = cursor_of(request, table, order)
    found: list[R] = []
    while len(found) <= limit:
        further = [] if after is None else [Cond(order, "<" if descending else ">", after)]
        rows = await engine.store.page(
            table,
            [*where, *further],
            order=order,
            descending=descending,
            limit=_BATCH,
            heavy=heavy,
        )
        found += [row for row in rows if keep(row)]
        if len(rows) < _BATCH:
            break
        after = getattr(rows[-1], order)
    more = len(found) > limit
    return found[:limit], getattr(found[limit - 1], order) if more else None


def like(text: str) -> str:
    """A pattern for text anywhere; `*` stands for anything."""
    safe = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return safe.replace("*", "%") if "*" in text else f"%{safe}%"

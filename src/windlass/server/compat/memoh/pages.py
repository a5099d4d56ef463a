"""Pages of a run's parts, pinned to the moment of the first one."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import msgspec
from starlette.requests import Request

from windlass.model.errors import BadRequest
from windlass.model.rows import Run
from windlass.server.compat.memoh.history import check_seq
from windlass.server.http import whole_number

_SIZE, _SIZE_MAX = 100, 500


class Cursor(msgspec.Struct, frozen=True):
    id: str
    snapshot_seq: int
    filter_hash: str


def filter_hash(request: Request, names: Sequence[str]) -> str:
    given = {name: request.query_params.get(name, "") for name in names}
    text = msgspec.json.encode({"path": request.url.path, **given}, order="sorted")
    return sha256(text).hexdigest()[:16]


def cursor_of(request: Request, names: Sequence[str]) -> Cursor | None:
    text = request.query_params.get("after", "")
    if not text:
        return None
    try:
        cursor = msgspec.json.decode(urlsafe_b64decode(text + "=="), type=Cursor)
    except (ValueError, msgspec.MsgspecError):
        raise BadRequest("invalid cursor: after is not the next_after of a page") from None
    if cursor.filter_hash != filter_hash(request, names):
        raise BadRequest("invalid cursor: it is of a list with other filters")
    return cursor


def seq_of(request: Request, run: Run, cursor: Cursor | None) -> int:
    """The moment a list is of: that of its first page, or the one asked for."""
    asked = whole_number(request, "as_of_seq", 0, 2**53)
    if cursor is not None:
        if asked not in (0, cursor.snapshot_seq):
            raise BadRequest("invalid cursor: it is of another moment than as_of_seq")
        return check_seq(run, cursor.snapshot_seq)
    return check_seq(run, asked)


def page(
    request: Request,
    items: list[dict[str, Any]],
    seq: int,
    cursor: Cursor | None,
    names: Sequence[str],
) -> dict[str, Any]:
    limit = max(1, whole_number(request, "limit", _SIZE, _SIZE_MAX))
    start = 0
    if cursor is not None:
        place = [at for at, item in enumerate(items) if item["id"] == cursor.id]
        if not place:
            raise BadRequest("invalid cursor: what it stood at is not in the list")
        start = place[0] + 1
    some = items[start : start + limit]
    more = len(items) > start + limit
    next_after = None
    if more:
        last = Cursor(some[-1]["id"], seq, filter_hash(request, names))
        next_after = urlsafe_b64encode(msgspec.json.encode(last)).decode().rstrip("=")
    return {"items": some, "next_after": next_after, "snapshot_seq": seq}

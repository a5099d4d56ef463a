"""What attempts said while they ran: chunk by chunk, or as one text beside each attempt."""

from starlette.requests import Request
from starlette.responses import Response

from windlass.model.errors import BadRequest
from windlass.model.queues import is_link
from windlass.model.rows import Attempt, LogChunk
from windlass.ports.store import Cond
from windlass.protocol.api import Page
from windlass.protocol.logs_api import LogView
from windlass.server.api.runs import find
from windlass.server.caller import engine_of
from windlass.server.context import context_of
from windlass.server.http import reply
from windlass.server.paging import fetch_page
from windlass.server.routes import Route
from windlass.server.said import CHANNEL


async def list_logs(request: Request) -> Response:
    """The chunks of one attempt's log in order, of all channels or of one."""
    run = await find(request)
    attempt = request.query_params.get("attempt", "")
    if not attempt.startswith(f"{run.id}~") or "@" not in attempt:
        raise BadRequest(f"attempt names one of run {run.id}: see /runs/{{id}}/attempts")
    await context_of(request).link.feedback.flush()
    ended = await engine_of(request).store.page(Attempt, [Cond("id", "=", attempt)], limit=1)
    if ended and ended[0].log and not is_link(ended[0].queue):
        return reply(Page(items=whole(ended[0], request.query_params.get("channel", ""))))
    where = [Cond("attempt_id", "=", attempt)]
    if channel := request.query_params.get("channel"):
        where.append(Cond("channel", "=", channel))
    rows, next_ = await fetch_page(
        request, LogChunk, where, order="number", descending=False, size=200, size_max=2000
    )
    items = [
        LogView(number=row.number, at=row.at, channel=row.channel, text=row.text) for row in rows
    ]
    return reply(Page(items=items, next=next_))


def whole(attempt: Attempt, channel: str) -> list[LogView]:
    """A log that came whole with its result, as one piece."""
    if channel not in ("", CHANNEL):
        return []
    at = attempt.finished_at or attempt.claimed_at
    return [LogView(number=0, at=at, channel=CHANNEL, text=attempt.log or "")]


ROUTES = [
    Route(
        "GET",
        "/api/v1/runs/{id}/logs",
        list_logs,
        gives=Page[LogView],
        query=("attempt", "channel", "limit", "cursor"),
    ),
]

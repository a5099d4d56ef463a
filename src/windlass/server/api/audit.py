"""The audit trail, to read."""

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from windlass.model.access import Audit
from windlass.model.times import iso
from windlass.ports.store import Cond
from windlass.protocol.users_api import AuditList, AuditView
from windlass.server.http import reply
from windlass.server.paging import fetch_page
from windlass.server.routes import Route

PAGE_MAX = 200
_FILTERS = {
    "action": "action",
    "actorId": "actor",
    "targetType": "target_type",
    "targetId": "target_id",
}


async def list_events(request: Request) -> Response:
    """Who changed what, newest first."""
    query = request.query_params
    where = [Cond(column, "=", query[name]) for name, column in _FILTERS.items() if query.get(name)]
    rows, next_ = await fetch_page(request, Audit, where, size_max=PAGE_MAX)
    items = [
        AuditView(
            event_id=row.id,
            actor_id=row.actor,
            action=row.action,
            target_type=row.target_type,
            target_id=row.target_id,
            metadata=msgspec.Raw(row.detail.encode()),
            created_at=iso(row.at),
        )
        for row in rows
    ]
    return reply(AuditList(items=items, next_cursor=next_))


ROUTES = [
    Route(
        "GET",
        "/api/v1/audit-events",
        list_events,
        "admin",
        gives=AuditList,
        query=(*_FILTERS, "limit", "cursor"),
    ),
]

"""Approvals of what stays done, given once for a key."""

from starlette.requests import Request

from windlass.engine import ledger
from windlass.engine.keys import Keyed
from windlass.model.errors import NotFound
from windlass.model.ledger import (
    Approval,
)
from windlass.model.rows import Row
from windlass.server.audit import line
from windlass.server.caller import engine_of, who


async def approved(
    request: Request, task_id: str, effect: str, reason: str, expires_in_s: float, key: Keyed
) -> tuple[Approval, str | None]:
    """The approval that a request makes, with its token, or made before, without it."""
    engine = engine_of(request)
    approval_id, given = engine.new_id(), list[ledger.Given]()
    noted = line(request, "approval.give", "approval", approval_id, task=task_id, reason=reason)

    async def act(*along: Row) -> None:
        made = await ledger.approve(
            engine,
            task_id,
            effect,
            reason,
            noted,
            *along,
            approval_id=approval_id,
            expires_in_s=expires_in_s,
            by=who(request).name,
        )
        given.append(made)

    counts = await key.once(approval_id, act)
    if counts == approval_id:
        return given[0]
    async with engine.store.session() as session:
        rows = await session.rows(Approval, [counts])
    if not rows:
        raise NotFound(f"approval {counts} went with its run")
    return rows[0], None

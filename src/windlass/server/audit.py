"""The audit trail: who changed what, one row each."""

import msgspec
from starlette.requests import Request

from windlass.model.access import Audit
from windlass.model.rows import Version
from windlass.model.tenants import DEFAULT
from windlass.server.auth import Who
from windlass.server.caller import who
from windlass.server.context import context_of


def line(
    request: Request, action: str, target_type: str = "", target_id: str = "", **detail: object
) -> Audit:
    """What the caller of a request does, as a row for the commit in which it is done."""
    return _line(request, who(request).name, action, target_type, target_id, detail)


async def note(
    request: Request, action: str, target_type: str = "", target_id: str = "", **detail: object
) -> None:
    """Write down what the caller of a request has done, where the act has no commit of its own."""
    await context_of(request).engine.write(line(request, action, target_type, target_id, **detail))


async def note_as(
    request: Request,
    actor: str,
    action: str,
    target_type: str = "",
    target_id: str = "",
    **detail: object,
) -> None:
    """Write down what somebody has done whom no token names."""
    row = _line(request, actor, action, target_type, target_id, detail)
    await context_of(request).engine.write(row)


def _line(
    request: Request,
    actor: str,
    action: str,
    target_type: str,
    target_id: str,
    detail: dict[str, object],
) -> Audit:
    engine = context_of(request).engine
    caller: Who | None = getattr(request.state, "who", None)
    return Audit(
        id=engine.new_id(),
        at=engine.store.now(),
        actor=actor,
        action=action,
        target_type=target_type,
        target_id=target_id,
        detail=msgspec.json.encode(detail).decode(),
        tenant=caller.tenant if caller is not None else DEFAULT,
    )


def version_line(request: Request, action: str, kind: str, version: Version) -> Audit:
    """The audit line of a version, for the commit that adds it."""
    return line(request, action, kind, version.flow_id, version=version.number)

"""The audit trail: who changed what, one row each."""

import msgspec
from starlette.requests import Request

from windlass.engine.engine import Engine
from windlass.model.access import Audit
from windlass.server.routes import who


async def note(
    request: Request, action: str, target_type: str = "", target_id: str = "", **detail: object
) -> None:
    """Write down what the caller of a request has done."""
    await note_as(request, who(request).name, action, target_type, target_id, **detail)


async def note_as(
    request: Request,
    actor: str,
    action: str,
    target_type: str = "",
    target_id: str = "",
    **detail: object,
) -> None:
    """Write down what somebody has done whom no token names."""
    engine: Engine = request.app.state.engine
    await engine.write(
        Audit(
            id=engine.new_id(),
            at=engine.store.now(),
            actor=actor,
            action=action,
            target_type=target_type,
            target_id=target_id,
            detail=msgspec.json.encode(detail).decode(),
        )
    )

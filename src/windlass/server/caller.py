"""What a request stands for: who calls, and the engine as that caller sees it."""

from starlette.requests import Request

from windlass.engine.engine import Engine
from windlass.model.tenants import ALL
from windlass.server.auth import Who


def who(request: Request) -> Who:
    """The caller, as the route's check found it."""
    found: Who = request.state.who
    return found


def engine_of(request: Request) -> Engine:
    """The engine as the caller's tenant sees it; where anybody may call, the whole of it."""
    engine: Engine = request.app.state.engine
    caller: Who | None = getattr(request.state, "who", None)
    if caller is None:
        return engine
    return engine.of(caller.tenant, operator=caller.home == ALL)

"""What a request stands for: who calls, and the engine as that caller sees it."""

from starlette.requests import Request

from windlass.engine.attempts import Attempts
from windlass.engine.engine import Engine
from windlass.engine.workers import get_worker
from windlass.model.errors import Denied
from windlass.model.tenants import ALL
from windlass.server.auth import Who
from windlass.server.context import context_of


def who(request: Request) -> Who:
    """The caller, as the route's check found it."""
    found: Who = request.state.who
    return found


def engine_of(request: Request) -> Engine:
    """The engine as the caller's tenant sees it; where anybody may call, the whole of it."""
    engine = context_of(request).engine
    caller: Who | None = getattr(request.state, "who", None)
    if caller is None:
        return engine
    return engine.of(caller.tenant, operator=caller.home == ALL)


async def check_steers(request: Request, worker_id: str) -> None:
    """Refuse to let somebody of one tenant steer a worker that works for others too."""
    engine = engine_of(request)
    if who(request).home == ALL or len(engine.tenants.names) == 1:
        return
    worker = await get_worker(engine, worker_id)
    if worker is not None and worker.tenant == ALL:
        raise Denied(f'worker "{worker_id}" is shared; an operator of the whole system steers it')


def attempts_of(request: Request) -> Attempts:
    attempts = context_of(request).attempts
    return attempts.of(who(request).works_for)

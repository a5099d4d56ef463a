"""The door for programs in pods: an attempt's own token, and nothing but that attempt."""

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from windlass.engine.engine import Engine
from windlass.engine.pod_progress import keep_progress
from windlass.model.errors import StaleLease, Unauthorized
from windlass.model.queues import tenant_of
from windlass.model.rows import Attempt
from windlass.model.states import ATTEMPT_LIVE
from windlass.protocol.blackboard import BoardFound, BoardRead, BoardWrite, BoardWrote
from windlass.protocol.exchange import ActionEnd, ActionReceipt, ActionStart, Result, Said
from windlass.protocol.pod_reports import PODS_PATH, REPORT_PATH, PodReport, PodReported
from windlass.server.api import blackboard, ledger
from windlass.server.api.workers import report as hand_in
from windlass.server.auth import bearer
from windlass.server.context import context_of
from windlass.server.http import read_json, reply
from windlass.server.routes import Route
from windlass.server.said import keep_log


async def report(request: Request) -> Response:
    """The program in a pod hands in its result or an error, says how far it is and what it logs, or
    asks whether to go on. Its token is its attempt's own (FLOWFORGE_AUTH_TOKEN), and good for
    nothing else."""
    body = await read_json(request, PodReport, raw_checked=False)
    attempt = await own_attempt(request, body.attempt_id)
    live = attempt.state in ATTEMPT_LIVE
    if live:
        await _keep(engine_of(request, attempt), attempt, body)
    unset = msgspec.UnsetType
    if isinstance(body.output, unset) and isinstance(body.error, unset):
        stop = not live or attempt.cancel_at is not None
        return reply(PodReported(status="accepted" if live else "stale", stop=stop))
    result = Result(
        attempt_id=body.attempt_id,
        token=bearer(request),
        output=body.output,
        error=body.error,
        usage=body.usage,
    )
    attempts = context_of(request).attempts
    receipt = await hand_in(attempts, result)
    return reply(PodReported(status=receipt.status, stop=True, detail=receipt.detail))


async def _keep(engine: Engine, attempt: Attempt, body: PodReport) -> None:
    """Keep what a running program says; each piece has its place, so that twice is once."""
    if body.log:
        piece = Said(attempt_id=attempt.id, token="", offset=body.log_offset, text=body.log)
        await keep_log(engine, [piece])
    if body.beat or body.progress is not None:
        await keep_progress(engine, attempt.id, body.progress, body.message)


async def own_attempt(request: Request, attempt_id: str) -> Attempt:
    """The attempt whose token the caller shows, which must be a pod."""
    attempts = context_of(request).attempts
    try:
        await attempts.check_token(attempt_id, bearer(request))
    except StaleLease as error:
        raise Unauthorized("this is not the token of that attempt") from error
    engine = context_of(request).engine
    async with engine.store.session() as session:
        rows = await session.rows(Attempt, [attempt_id])
    if not rows or not rows[0].external_ref:
        # Workers of other kinds show more than this token, which travels with the work.
        raise Unauthorized("that attempt is no pod; its worker speaks for it")
    return rows[0]


def engine_of(request: Request, attempt: Attempt) -> Engine:
    """The engine as the attempt's tenant has it."""
    engine = context_of(request).engine
    return engine.of(tenant_of(attempt.queue))


async def begin(request: Request) -> Response:
    """The program in a pod is about to do something outside: it is written down first."""
    body = await read_json(request, ActionStart)
    attempt = await own_attempt(request, body.attempt_id)
    return await ledger.begun(engine_of(request, attempt), body)


async def end(request: Request) -> Response:
    """How something that the program in a pod did outside went."""
    body = await read_json(request, ActionEnd)
    attempt = await own_attempt(request, body.attempt_id)
    return await ledger.ended(engine_of(request, attempt), body)


async def write(request: Request) -> Response:
    """The program in a pod writes on the blackboard, below its own task."""
    body = await read_json(request, BoardWrite)
    attempt = await own_attempt(request, body.attempt_id)
    return await blackboard.written(engine_of(request, attempt), body)


async def read(request: Request) -> Response:
    """The program in a pod reads a key of its run, or all that begin so."""
    body = await read_json(request, BoardRead)
    attempt = await own_attempt(request, body.attempt_id)
    return await blackboard.looked_up(engine_of(request, attempt), body)


_ACTIONS, _BOARD = f"{PODS_PATH}/actions", f"{PODS_PATH}/blackboard"
ROUTES = [
    Route("POST", REPORT_PATH, report, None, PodReport, PodReported, control=True),
    Route("POST", _ACTIONS, begin, None, ActionStart, ActionReceipt, control=True),
    Route("POST", f"{_ACTIONS}/end", end, None, ActionEnd, ActionReceipt, control=True),
    Route("POST", _BOARD, write, None, BoardWrite, BoardWrote, control=True),
    Route("POST", f"{_BOARD}/read", read, None, BoardRead, BoardFound),
]

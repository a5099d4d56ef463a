"""The door for programs in pods: an attempt's own token, and nothing but that attempt."""

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from windlass.engine.attempts import Attempts
from windlass.engine.engine import Engine
from windlass.model.errors import StaleLease, Unauthorized
from windlass.model.rows import Attempt
from windlass.model.states import ATTEMPT_LIVE
from windlass.protocol.exchange import Result
from windlass.protocol.pod_reports import REPORT_PATH, PodReport, PodReported
from windlass.server.api.workers import report as hand_in
from windlass.server.auth import bearer
from windlass.server.http import read_json, reply
from windlass.server.routes import Route


async def report(request: Request) -> Response:
    """The program in a pod hands in its result or an error, or asks whether to go on. Its token is
    its attempt's own (FLOWFORGE_AUTH_TOKEN), and good for nothing else."""
    body = await read_json(request, PodReport, raw_checked=False)
    token = bearer(request)
    attempts: Attempts = request.app.state.attempts
    try:
        await attempts.check_token(body.attempt_id, token)
    except StaleLease as error:
        raise Unauthorized("this is not the token of that attempt") from error
    attempt = await _pod(request.app.state.engine, body.attempt_id)
    if attempt is None:
        # Workers of other kinds show more than this token, which travels with the work.
        raise Unauthorized("that attempt is no pod; its worker speaks for it")
    stop = attempt.state not in ATTEMPT_LIVE or attempt.cancel_at is not None
    unset = msgspec.UnsetType
    if isinstance(body.output, unset) and isinstance(body.error, unset):
        return reply(PodReported(status="stale" if stop else "accepted", stop=stop))
    result = Result(
        attempt_id=body.attempt_id,
        token=token,
        output=body.output,
        error=body.error,
        usage=body.usage,
    )
    receipt = await hand_in(attempts, result)
    return reply(PodReported(status=receipt.status, stop=True, detail=receipt.detail))


async def _pod(engine: Engine, attempt_id: str) -> Attempt | None:
    async with engine.store.session() as session:
        rows = await session.rows(Attempt, [attempt_id])
    return rows[0] if rows and rows[0].external_ref else None


ROUTES = [Route("POST", REPORT_PATH, report, None, PodReport, PodReported, control=True)]

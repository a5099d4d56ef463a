"""Workers: register, exchange work for results, leave."""

import asyncio
import contextlib
from collections.abc import Container, Sequence

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from windlass.engine import workers
from windlass.engine.attempts import Attempts
from windlass.engine.engine import Engine
from windlass.model.assignment import Assignment
from windlass.model.errors import BadRequest, NotFound, StaleLease
from windlass.model.rows import Failure
from windlass.protocol.api import OkView
from windlass.protocol.exchange import (
    SAID_MAX,
    Assigned,
    Exchange,
    Receipt,
    Registered,
    Registration,
    Reply,
    Result,
    Said,
)
from windlass.server.caller import attempts_of, check_steers, engine_of, who
from windlass.server.context import context_of
from windlass.server.http import read_json, reply
from windlass.server.own_attempts import others_attempts
from windlass.server.push_urls import check_push_url
from windlass.server.routes import Route
from windlass.server.said import keep_log
from windlass.server.waiting import wait_for_news, wait_for_work

_WAIT_S_MAX = 60.0
_SLOTS_MAX = 1000
_KINDS = ("failed", "fatal", "timeout", "cancelled")


async def register(request: Request) -> Response:
    """Add a worker, or take it back under its old id."""
    body = await read_json(request, Registration)
    engine = engine_of(request)
    who(request).check_worker(body.id)
    if body.transport not in ("pull", "push"):
        raise BadRequest(f'transport "{body.transport}" is neither "pull" nor "push"')
    if body.transport == "push":
        check_push_url(body.url, context_of(request).push_allow)
    await workers.register(
        engine,
        body.id,
        transport=body.transport,
        url=body.url,
        services=body.services,
        capacity=body.capacity,
        meta=msgspec.json.encode(body.meta).decode(),
        tenant=who(request).works_for,
    )
    context_of(request).workers_changed()
    settings = engine.settings
    heartbeat_s = min(settings.worker_ttl_s, settings.lease_s) / 3
    return reply(Registered(lease_s=settings.lease_s, heartbeat_s=heartbeat_s))


async def exchange(request: Request) -> Response:
    """Take results, renew leases and hand out attempts, in one commit where that can be."""
    # One result that cannot be read is that attempt's failure; the others with it still count.
    body = await read_json(request, Exchange, raw_checked=False)
    context, caller = context_of(request), who(request)
    worker_id = caller.check_worker(request.path_params["id"])
    attempts = attempts_of(request)
    workers.check_services(body.services)
    tenant = caller.works_for
    known = await context.presence.seen(worker_id, body.load, tenant=tenant)
    queues = [f"pull:{service}" for service in body.services]
    slots = min(body.slots, _SLOTS_MAX)
    caps = {service: count for service, count in body.caps.items() if service in body.services}
    # Demand is stated before the results are handed in: what they make ready is then leased here.
    polls = context.polls
    polls.end(worker_id, body.ends)
    joined = slots > 0 and polls.join(worker_id, body.joins, slots, caps)
    wanted = slots > 0 and queues and not joined
    waiting = attempts.want(worker_id, queues, slots, caps=caps, tenant=tenant) if wanted else None
    try:
        told_of = [result.attempt_id for result in body.results]
        others = await others_attempts(
            request, [*told_of, *(said.attempt_id for said in body.said)]
        )
        reports = [report(attempts, result, others) for result in body.results]
        # Most bring one, which needs no task of its own.
        receipts = [await reports[0]] if len(reports) == 1 else await asyncio.gather(*reports)
        held = await attempts.renew(body.renew, worker_id) if body.renew else {}
        if body.said:
            own = [said for said in body.said if said.attempt_id not in others]
            await keep_said(engine_of(request), attempts, own)
    except BaseException:
        for lost in waiting.withdraw() if waiting is not None else ():
            attempts.give_back(lost.attempt_id)
        raise
    given: Sequence[Assignment] = ()
    told = bool(receipts) or bool(body.renew) or bool(body.said)
    wait_s = 0.0 if told else min(body.wait_ms / 1000, _WAIT_S_MAX)
    with context.stops.listen(worker_id) as listener:
        if waiting is not None:
            with polls.waiting(worker_id, body.number, waiting, listener.heard):
                given = await wait_for_work(request, attempts, waiting, wait_s, listener.heard)
        elif wait_s > 0 and not joined:
            await wait_for_news(request, listener.heard, wait_s)
    asked = [*body.renew, *listener.attempts]
    if listener.attempts:
        held |= await attempts.renew(listener.attempts, worker_id)
    answer = Reply(
        results=list(receipts),
        attempts=[await assigned(attempts, row) for row in given],
        cancel=[attempt for attempt, asked in held.items() if asked],
        lost=[attempt for attempt in asked if attempt not in held],
        known=known,
        joined=joined,
    )
    return reply(answer)


async def report(attempts: Attempts, result: Result, others: Container[str] = ()) -> Receipt:
    """Hand in one result; a stale one, or another worker's, is told so and changes nothing."""
    attempt_id = result.attempt_id
    if attempt_id in others:
        detail = "it is no attempt of this token's worker"
        return Receipt(attempt_id=attempt_id, status="stale", detail=detail)
    try:
        await attempts.check_token(attempt_id, str(result.token))
        if isinstance(result.error, msgspec.UnsetType):
            given = result.output
            output = "null" if isinstance(given, msgspec.UnsetType) else given
            status = await attempts.succeeded(
                attempt_id,
                output,
                result.log or None,
                usage=result.usage,
                marks=result.marks,
            )
        else:
            fault = result.error
            kind = fault.kind if fault.kind in _KINDS else "failed"
            failure = Failure(kind, fault.message, retry_after_ms=fault.retry_after_ms)
            status = await attempts.failed(
                attempt_id,
                failure,
                result.log or None,
                usage=result.usage,
                marks=result.marks,
            )
        return Receipt(attempt_id=attempt_id, status=status)
    except (StaleLease, NotFound) as error:
        return Receipt(attempt_id=attempt_id, status="stale", detail=str(error))
    except BadRequest as error:
        return Receipt(attempt_id=attempt_id, status="accepted", detail=str(error))


async def keep_said(engine: Engine, attempts: Attempts, said: Sequence[Said]) -> None:
    """Keep what running attempts log, so that it is there before they end and if they never do."""
    pieces: list[Said] = []
    for piece in said[:SAID_MAX]:
        with contextlib.suppress(StaleLease):
            await attempts.check_token(piece.attempt_id, str(piece.token))
            pieces.append(piece)
    await keep_log(engine, pieces)


async def assigned(attempts: Attempts, row: Assignment) -> Assigned:
    return Assigned(
        attempt_id=row.attempt_id,
        token=await attempts.token(row.attempt_id),
        run_id=row.run_id,
        task_id=row.task_id,
        node=row.node,
        number=row.number,
        service=row.service,
        input=msgspec.Raw(row.input.encode()),
        params=msgspec.Raw(row.params.encode()),
        lease_s=attempts.lease_s,
        timeout_ms=row.timeout_ms,
        role=str(row.role),
        feedback=msgspec.json.decode(row.feedback) if row.feedback else [],
        env=msgspec.json.decode(row.env) if row.env else None,
    )


async def leave(request: Request) -> Response:
    """A worker says goodbye; it gets no more work."""
    worker_id = who(request).check_worker(request.path_params["id"])
    await check_steers(request, worker_id)
    if not await workers.leave(engine_of(request), worker_id):
        raise NotFound(f'no worker "{worker_id}"')
    context_of(request).presence.forget(worker_id)
    context_of(request).workers_changed()
    return reply(OkView())


_AT = "/api/v1/workers"
ROUTES = [
    Route("POST", _AT, register, "worker", Registration, Registered),
    Route("POST", _AT + "/{id}/exchange", exchange, "worker", Exchange, Reply, often=True),
    Route("DELETE", _AT + "/{id}", leave, "worker", None, OkView),
]

"""Pull mode, PocketFlow's way: poll, complete, heartbeat."""

from collections.abc import Sequence
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from windlass.engine.attempts import Attempts
from windlass.engine.workers import check_services
from windlass.model.assignment import Assignment
from windlass.model.errors import BadRequest, Denied, NotFound, StaleLease
from windlass.model.ids import as_written
from windlass.model.rows import Failure
from windlass.model.values import is_list, is_object
from windlass.server.caller import attempts_of, engine_of, who
from windlass.server.compat.pocketflow.names import (
    OK,
    bare,
    list_field,
    number_field,
    seconds,
    text_field,
)
from windlass.server.context import context_of
from windlass.server.http import reply
from windlass.server.loose_fields import read_fields, spelled_alike
from windlass.server.own_attempts import check_own
from windlass.server.waiting import wait_for_work

_WAIT_MS = 2_000
_WAIT_MS_MAX = 60_000
_BATCH_MAX = 500


async def poll(request: Request) -> Response:
    """Wait for work. `max` asks for a batch (an object with `tasks`), `wait_ms` for patience."""
    fields = await read_fields(request)
    worker_id = who(request).check_worker(text_field(fields, "worker_id", required=True))
    services = list_field(fields, "services")
    check_services(services)
    tenant = who(request).works_for
    await context_of(request).presence.seen(worker_id, tenant=tenant)
    batch = "max" in fields
    count = min(max(1, number_field(fields, "max")), _BATCH_MAX) if batch else 1
    wait_ms = number_field(fields, "wait_ms") if "waitms" in fields else _WAIT_MS
    attempts = attempts_of(request)
    given: Sequence[Assignment] = ()
    if services:
        queues = [f"pull:{service}" for service in services]
        wait_s = min(max(0, wait_ms), _WAIT_MS_MAX) / 1000
        waiting = attempts.want(worker_id, queues, count, tenant=tenant)
        given = await wait_for_work(request, attempts, waiting, wait_s)
    if not given:
        return Response(status_code=204)
    tasks = [await task_json(attempts, row) for row in given]
    return reply({"tasks": tasks} if batch else tasks[0])


async def task_json(attempts: Attempts, row: Assignment) -> dict[str, Any]:
    body = {
        "input": msgspec.Raw(row.input.encode()),
        "params": msgspec.Raw(row.params.encode()),
        "run_id": f"run-{row.attempt_id}",
    }
    return {
        "id": f"q-{row.attempt_id}",
        "token": await attempts.token(row.attempt_id),
        "task_id": f"task-{row.run_id}",
        "node_key": as_written(row.node),
        "service": row.service,
        "input": body,
        "input_json": msgspec.json.encode(body).decode(),
        "status": "claimed",
        "worker_id": row.worker_id,
        "created_at": seconds(row.claimed_at),
        "started_at": seconds(row.claimed_at),
        "timeout_at": seconds(row.lease_until),
    }


async def complete(request: Request) -> Response:
    """Hand in a result. Fenced by the lease; the same result twice is one."""
    fields = await read_fields(request)
    items = fields.get("items")
    if items is None:
        await complete_one(request, fields)
        return reply(OK)
    if not is_list(items) or not all(is_object(item) for item in items):
        raise BadRequest("items must be a list of completions")
    answers: list[dict[str, str]] = []
    for item in items:
        try:
            await complete_one(request, spelled_alike(item))
            answers.append(OK)
        except (StaleLease, NotFound, Denied) as error:
            answers.append({"error": str(error)})
    return reply({"items": answers})


async def complete_one(request: Request, fields: dict[str, Any]) -> None:
    attempts = attempts_of(request)
    attempt_id = bare(text_field(fields, "queue_id", required=True), "q")
    token = text_field(fields, "token")
    if token:
        await attempts.check_token(attempt_id, token)
    elif who(request).workers:
        raise Denied("send the token that came with the task; only its holder has that")
    await check_own(request, attempt_id)
    error = fields.get("error")
    if error is None or error == "":
        output = msgspec.json.encode(fields.get("result")).decode()
        await attempts.succeeded(attempt_id, output, log_of(fields))
    else:
        text = error if isinstance(error, str) else msgspec.json.encode(error).decode()
        await attempts.failed(attempt_id, Failure("failed", text), log_of(fields))


def log_of(fields: dict[str, Any]) -> str | None:
    """Log text sent along; a path is a name on the worker's disk, which is none of ours."""
    log = fields.get("log")
    return log if isinstance(log, str) and log else None


async def update_run(request: Request) -> Response:
    """A worker says it has begun."""
    fields = await read_fields(request)
    attempt_id = bare(text_field(fields, "run_id", required=True), "run")
    await check_own(request, attempt_id)
    if text_field(fields, "status") == "running":
        await attempts_of(request).started(attempt_id)
    return reply(OK)


async def heartbeat(request: Request) -> Response:
    """Extend leases. Says whether the work should stop; 409 when it is no longer held."""
    fields = await read_fields(request)
    many = list_field(fields, "queue_ids") or [text_field(fields, "queue_id", required=True)]
    attempts = attempts_of(request)
    ids = [bare(given, "q") for given in many]
    token = text_field(fields, "token")
    if token and len(ids) == 1:
        await attempts.check_token(ids[0], token)
    bound = bool(who(request).workers)
    worker_id = text_field(fields, "worker_id", required=bound)
    if worker_id:
        who(request).check_worker(worker_id)
        await context_of(request).presence.seen(worker_id, tenant=who(request).works_for)
    held = await attempts.renew(ids, worker_id if bound else "")
    lost = [f"q-{attempt}" for attempt in ids if attempt not in held]
    if lost and len(ids) == 1:
        raise StaleLease(f"{lost[0]} is no longer held; stop working on it")
    now = engine_of(request).store.now()
    return reply(
        {
            **OK,
            "timeout_at": seconds(now) + int(attempts.lease_s),
            "cancel": any(held.values()),
            "cancelled": [f"q-{attempt}" for attempt, asked in held.items() if asked],
            "lost": lost,
        }
    )

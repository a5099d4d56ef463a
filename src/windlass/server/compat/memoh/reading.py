"""The parts of a run: tasks, questions, artifacts, events, and all of it at once."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from windlass.engine import runs as engine_runs
from windlass.engine.engine import Engine
from windlass.engine.workers import live_workers
from windlass.model.errors import BadRequest
from windlass.model.rows import Attempt, Event, Run
from windlass.model.states import ATTEMPT_LIVE, Role
from windlass.ports.store import Cond
from windlass.server.caller import engine_of
from windlass.server.compat.memoh import words
from windlass.server.compat.memoh.approvals import action_records
from windlass.server.compat.memoh.history import record_at
from windlass.server.compat.memoh.pages import cursor_of, page, seq_of
from windlass.server.compat.memoh.record import (
    Record,
    all_of,
    artifacts_of,
    attempt_view,
    checkpoint_view,
    event_view,
    find_run,
    manifest_view,
    result_view,
    run_view,
    verification_view,
)
from windlass.server.event_stream import EventStream
from windlass.server.http import number_of, reply, whole_number
from windlass.server.run_events import follow

_PING_S = 20.0
_EVENTS, _EVENTS_MAX = 100, 500
_TIMELINE_MAX = 2_000


def statuses(request: Request, known: frozenset[str]) -> frozenset[str]:
    """The statuses a list is to be of; empty for all."""
    given = frozenset(word for word in request.query_params.get("status", "").split(",") if word)
    if given - known:
        raise BadRequest(f"status is of {', '.join(sorted(known))}")
    return given


async def list_tasks(request: Request) -> Response:
    """The tasks of the plan in force; those that a later plan has dropped are not among them."""
    run, names = await find_run(request), ("status",)
    wanted, cursor = statuses(request, words.TASK_STATUSES), cursor_of(request, names)
    seq = seq_of(request, run, cursor)
    record, _ = await record_at(engine_of(request), run, seq)
    items = [item for item in record.tasks() if not wanted or item["status"] in wanted]
    return reply(page(request, items, seq, cursor, names))


async def list_checkpoints(request: Request) -> Response:
    """Questions of a run, oldest first."""
    run, names = await find_run(request), ("status",)
    known = frozenset(words.CHECKPOINT.values())
    wanted, cursor = statuses(request, known), cursor_of(request, names)
    seq = seq_of(request, run, cursor)
    _, asked = await record_at(engine_of(request), run, seq)
    views = [checkpoint_view(row) for row in asked]
    items = [item for item in views if not wanted or item["status"] in wanted]
    return reply(page(request, items, seq, cursor, names))


async def list_artifacts(request: Request) -> Response:
    """What the attempts of a run have made, as far as they said so."""
    run, names = await find_run(request), ("task_id", "kind")
    cursor = cursor_of(request, names)
    seq = seq_of(request, run, cursor)
    engine = engine_of(request)
    record, _ = await record_at(engine, run, seq)
    attempts = await attempts_of(engine, run)
    found = [item for result in results_of(record, attempts) for item in artifacts_of(result)]
    for name in names:
        if value := request.query_params.get(name):
            found = [item for item in found if item[name] == value]
    return reply(page(request, found, seq, cursor, names))


async def attempts_of(engine: Engine, run: Run) -> list[Attempt]:
    """All attempts of a run, oldest first."""
    found = await all_of(engine, Attempt, run)
    return sorted(found, key=lambda row: (row.claimed_at, row.id))


def results_of(record: Record, attempts: list[Attempt]) -> list[dict[str, Any]]:
    """The results of the attempts there were by then, of every one of them."""
    known = {key: row.attempts for key, row in record.rows.items()}
    views = [
        result_view(row, record.rows.get(row.task_id))
        for row in attempts
        if row.number <= known.get(row.task_id, 0)
        and (record.ended is None or row.id in record.ended)
    ]
    return [view for view in views if view is not None]


async def list_events(request: Request) -> Response:
    """Events of a run between two numbers."""
    run = await find_run(request)
    after = whole_number(request, "after_seq", 0, 2**53)
    until = whole_number(request, "until_seq", 0, 2**53)
    if after and not until:
        raise BadRequest("until_seq is required with after_seq: the number of the first page")
    until = until or run.seq
    if until > run.seq or after > until:
        raise BadRequest(f"after_seq and until_seq are between 0 and {run.seq}, in that order")
    limit = max(1, whole_number(request, "limit", _EVENTS, _EVENTS_MAX))
    where = [Cond("run_id", "=", run.id), Cond("seq", ">", after), Cond("seq", "<=", until)]
    rows = await engine_of(request).store.page(Event, where, order="seq", limit=limit)
    return reply({"items": [event_view(row) for row in rows], "until_seq": until})


async def watch(request: Request) -> Response:
    """Events as they come, from a number on."""
    run = await find_run(request)
    resumed = number_of(request.headers.get("last-event-id", ""))
    after = whole_number(request, "after_seq", 0, 2**53) if resumed is None else resumed
    return EventStream(request, messages(engine_of(request), run.id, after))


async def messages(engine: Engine, run_id: str, after: int) -> AsyncGenerator[bytes]:
    async with aclosing(follow(engine, run_id, after, _PING_S)) as events:
        async for row in events:
            if row is None:
                yield b'data: {"type":"ping"}\n\n'
            else:
                yield b"id: %d\ndata: %s\n\n" % (row.seq, msgspec.json.encode(event_view(row)))


async def inspector(request: Request) -> Response:
    """A run with everything that is kept of it."""
    engine = engine_of(request)
    run = await find_run(request)
    record, asked = await record_at(engine, run, run.seq)
    attempts = await attempts_of(engine, run)
    tasks = record.tasks()
    results = results_of(record, attempts)
    artifacts = [item for result in results for item in artifacts_of(result)]
    judged = [verification_view(row) for row in attempts if row.role is Role.VERIFY]
    shared = await engine_runs.shared_of(engine, run.id)
    last = [Cond("run_id", "=", run.id)]
    events = await engine.store.page(Event, last, order="seq", descending=True, limit=_TIMELINE_MAX)
    counts = {
        f"tasks_{word}": sum(task["status"] == word for task in tasks)
        for word in sorted(words.TASK_STATUSES)
    }
    workers = await live_workers(engine)
    return reply(
        {
            "run": run_view(run, record.root, shared.get("output")),
            "summary": {
                **counts,
                "tasks_total": len(tasks),
                "attempts_total": len(attempts),
                "attempts_active": sum(row.state in ATTEMPT_LIVE for row in attempts),
                "verifications_total": len(judged),
                "checkpoints_open": sum(row.state == "open" for row in asked),
                "artifacts_total": len(artifacts),
            },
            "stuck_signals": stuck(attempts, engine.store.now()),
            "tasks": tasks,
            "dependencies": record.dependencies(),
            "results": results,
            "attempts": [attempt_view(row) for row in attempts if row.role is not Role.VERIFY],
            "verifications": judged,
            "input_manifests": [given for row in attempts if (given := manifest_view(row))],
            "execution_spans": [span(row) for row in attempts],
            "flow_spans": [span(row) for row in attempts if row.role is Role.PLAN],
            "action_records": await action_records(engine, run.id),
            "checkpoints": [checkpoint_view(row) for row in asked],
            "artifacts": artifacts,
            "workers": [{"id": row.id, "status": "active"} for row in workers],
            "timeline": [event_view(row) for row in reversed(events)],
        }
    )


_SPANS = {Role.PLAN: "planning", Role.WORK: "attempt", Role.VERIFY: "verification"}


def span(row: Attempt) -> dict[str, Any]:
    view = attempt_view(row)
    times = {name: view[name] for name in ("claimed_at", "started_at", "finished_at")}
    named = {"id": row.id, "kind": _SPANS[row.role], "task_id": row.task_id}
    return {**named, "status": view["status"], **times}


def stuck(attempts: list[Attempt], now: int) -> list[dict[str, Any]]:
    """Attempts whose lease has run out: they are being taken back at this moment."""
    signals = {Role.VERIFY: "verification_lease_expired"}
    return [
        {
            "kind": signals.get(row.role, "attempt_lease_expired"),
            "severity": "critical",
            "task_id": row.task_id,
            "attempt_id": row.id,
        }
        for row in attempts
        if row.state in ATTEMPT_LIVE and row.lease_until < now
    ]

"""What happened in a run: its tasks, attempts, revisions and events, as pages or as a stream."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from windlass.engine.engine import Engine
from windlass.model.budgets import shown_all
from windlass.model.errors import BadRequest
from windlass.model.notes import read_notes
from windlass.model.patches import GraphPatch, read_patch
from windlass.model.pods import lease_of
from windlass.model.rows import Attempt, Event, Task
from windlass.model.states import TASK_ENDED, TaskState
from windlass.ports.store import Cond
from windlass.protocol.api import AttemptView, EventView, Page, RevisionView, TaskView
from windlass.server.api.runs import find
from windlass.server.caller import engine_of
from windlass.server.event_stream import EventStream
from windlass.server.http import number_of, page_limit, raw, reply, whole_number
from windlass.server.log_texts import log_texts, whole_log
from windlass.server.paging import fetch_page
from windlass.server.routes import Route
from windlass.server.run_events import EVENTS_MAX, events_after, follow, sse

_KEEPALIVE_S = 15.0


async def list_tasks(request: Request) -> Response:
    """Tasks of a run by place, all or only those in some states."""
    run = await find(request)
    where = [Cond("id", ">", f"{run.id}~"), Cond("id", "<", f"{run.id}\x7f")]
    if states := request.query_params.get("state"):
        known = {str(state) for state in TaskState}
        for state in states.split(","):
            if state not in known:
                raise BadRequest(f'no task state "{state}"')
        where.append(Cond("state", "in", tuple(states.split(","))))
    rows, next_ = await fetch_page(request, Task, where, descending=False, size=200, size_max=2000)
    return reply(Page(items=[task_view(row) for row in rows], next=next_))


def task_view(task: Task) -> TaskView:
    return TaskView(
        id=task.id,
        scope=task.scope,
        node=task.node,
        kind=task.kind,
        state=str(task.state),
        step=task.step,
        index=task.idx if task.idx >= 0 else None,
        queue=task.queue,
        attempts=task.attempts,
        failures=task.failures,
        moves=task.moves,
        generation=task.generation,
        total=task.total,
        done=task.made - task.open if task.state not in TASK_ENDED else task.made,
        failed=task.failed,
        input=raw(task.input),
        output=raw(task.output),
        error=raw(task.error),
        action=task.action,
        wait_key=task.wait_key,
        created_at=task.created_at,
        started_at=task.started_at,
        finished_at=task.finished_at,
        due_at=task.due_at,
    )


async def list_attempts(request: Request) -> Response:
    """Attempts of a run, or of one of its tasks."""
    run = await find(request)
    place = request.query_params.get("task") or run.id
    of_task = "~" in place
    mark = "@" if of_task else "~"
    where = [Cond("id", ">", place + mark), Cond("id", "<", place + chr(ord(mark) + 1))]
    # Ids are text, where the tenth attempt comes before the second.
    order = "number" if of_task else "id"
    rows, next_ = await fetch_page(
        request, Attempt, where, order=order, descending=False, size=200, size_max=2000
    )
    logs = await log_texts(request, rows)
    return reply(Page(items=[attempt_view(row, logs.get(row.id)) for row in rows], next=next_))


def attempt_view(attempt: Attempt, said: str | None = None) -> AttemptView:
    """An attempt; what was said while it ran stands before what came with its result."""
    notes = read_notes(attempt.notes)
    return AttemptView(
        id=attempt.id,
        task_id=attempt.task_id,
        number=attempt.number,
        state=str(attempt.state),
        queue=attempt.queue,
        worker_id=attempt.worker_id,
        worker_url=attempt.worker_url,
        lease_until=lease_of(attempt),
        cancel_requested_at=attempt.cancel_at,
        claimed_at=attempt.claimed_at,
        started_at=attempt.started_at,
        finished_at=attempt.finished_at,
        error=raw(attempt.error),
        log=whole_log(attempt, said),
        warnings=list(notes.warnings),
        metadata=None
        if notes.metadata is None
        else msgspec.Raw(msgspec.json.encode(notes.metadata)),
        role=str(attempt.role),
        output=raw(attempt.output),
        external_ref=attempt.external_ref,
        usage=shown_all(notes.usage),
        manifest=raw(attempt.manifest or None),
    )


async def list_events(request: Request) -> Response:
    """Events of a run after a number: a page of JSON, or a stream if the caller asks for one."""
    engine = engine_of(request)
    run = await find(request)
    after = whole_number(request, "after", 0, 2**53)
    if "text/event-stream" in request.headers.get("accept", ""):
        resumed = number_of(request.headers.get("last-event-id", ""))
        after = after if resumed is None else resumed
        return EventStream(request, stream(engine, run.id, after))
    limit = page_limit(request, 500, EVENTS_MAX)
    rows = await events_after(engine, run.id, after, limit + 1)
    items = [event_view(row) for row in rows[:limit]]
    return reply(Page(items=items, next=rows[limit - 1].seq if len(rows) > limit else None))


async def list_revisions(request: Request) -> Response:
    """How a run's graph has grown: its patches, oldest first. A run that was never patched has
    none."""
    run = await find(request)
    where = [Cond("run_id", "=", run.id)]
    rows, next_ = await fetch_page(
        request, GraphPatch, where, order="rev", descending=False, size_max=200
    )
    return reply(Page(items=[revision_view(row) for row in rows], next=next_))


def revision_view(row: GraphPatch) -> RevisionView:
    patch = read_patch(row.patch)
    return RevisionView(
        revision=row.rev,
        at=row.created_at,
        reason=patch.reason,
        author=patch.author,
        added=[node.path for node in patch.nodes],
        edges=[(edge.source, edge.target or "") for edge in patch.edges],
        dropped=list(patch.drop),
        redone=list(patch.redo),
    )


def event_view(event: Event) -> EventView:
    return EventView(
        seq=event.seq,
        type=event.type,
        task_id=event.task_id,
        at=event.at,
        data=msgspec.Raw(event.data.encode()),
    )


async def stream(engine: Engine, run_id: str, after: int) -> AsyncGenerator[bytes]:
    """Server-sent events by `seq`: what is there, then what comes, until the run has ended."""
    async with aclosing(follow(engine, run_id, after, _KEEPALIVE_S)) as events:
        async for row in events:
            if row is None:
                yield b": still here\n\n"
            else:
                after = row.seq
                yield sse(str(row.seq), row.type, msgspec.json.encode(event_view(row)))
    yield sse(str(after), "end", b"{}")


_ONE = "/api/v1/runs/{id}"
ROUTES = [
    Route(
        "GET", f"{_ONE}/tasks", list_tasks, gives=Page[TaskView], query=("state", "limit", "cursor")
    ),
    Route(
        "GET",
        f"{_ONE}/attempts",
        list_attempts,
        gives=Page[AttemptView],
        query=("task", "limit", "cursor"),
    ),
    Route(
        "GET",
        f"{_ONE}/revisions",
        list_revisions,
        gives=Page[RevisionView],
        query=("limit", "cursor"),
    ),
    Route("GET", f"{_ONE}/events", list_events, gives=Page[EventView], query=("after", "limit")),
]

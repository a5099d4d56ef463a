"""Runs: starting, steering and reading them."""

import asyncio
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any

import msgspec

from windlass.engine import keys
from windlass.engine.engine import Engine
from windlass.engine.flows import Startable
from windlass.engine.goals import goal_first
from windlass.engine.jobs import StartJob
from windlass.engine.params import checked_params
from windlass.kernel.events import (
    CancelRequested,
    CheckpointAnswered,
    ForkRun,
    PatchGraph,
    PriorityChanged,
    RetryRequested,
    SignalReceived,
    StartRun,
)
from windlass.kernel.redo import descendants_of, find_task
from windlass.kernel.reopen import is_undone, redone_from, reopened
from windlass.model.budgets import NO_BUDGET, read_budget
from windlass.model.errors import BadRequest, Conflict, NotFound
from windlass.model.graph import Graph
from windlass.model.patches import Patch
from windlass.model.quotas import check_project
from windlass.model.rows import Idempotency, Json, Row, Run, Task, Variable
from windlass.model.states import RUN_ENDED, RunState
from windlass.model.tenants import own_name
from windlass.model.values import readable, readable_object
from windlass.ports.store import Cond

_ID_CHARS = 36
"""How long a whole id is."""


class Started(msgspec.Struct, frozen=True):
    """What starting a run tells: its row, and whether this call made it."""

    run: Run
    created: bool


async def start_run(
    engine: Engine,
    target: Startable,
    params: Json = "{}",
    *,
    key: str = "",
    tags: Json = "{}",
    priority: int = 0,
    budget: object = None,
    project: str = "",
    request: str = "",
    noted: Callable[[Run], Row] | None = None,
) -> Started:
    """Begin a run. The same key with the same request gives the run that exists already.

    `request` is what was asked for in the caller's words: a version published in between must not
    make the same request another one. What is `noted` of the run is in the commit that begins it.
    """
    params = readable_object(params, "params")
    tags = readable_object(tags, "tags")
    graph = await engine.graphs.load(target.version_id)
    checked = checked_params(graph.params, params, target.flow_name)
    if target.dialect == "plan":
        checked = goal_first(checked)
    now = engine.store.now()
    run = Run(
        id=engine.new_id(),
        version_id=target.version_id,
        flow_id=target.flow_id,
        flow_name=target.flow_name,
        state=RunState.QUEUED,
        params=checked,
        request_id=key,
        tags=tags,
        priority=priority,
        created_at=now,
        updated_at=now,
        tenant=engine.home,
        dialect=target.dialect,
        budget=checked_budget(budget),
        project=check_project(project),
        quota=(await engine.rules()).quota_of_run(engine.home, project),
    )
    asked = request or f"{target.version_id}\n{params}\n{tags}{run.budget}{run.project}"
    along = (noted(run),) if noted is not None else ()
    return await begin(engine, StartRun(run), graph, key=key, asked=asked, along=along)


async def begin(
    engine: Engine,
    event: StartRun | ForkRun,
    graph: Graph,
    *,
    key: str,
    asked: str,
    along: Sequence[Row] = (),
) -> Started:
    """Have a run made, once for each key; the same key must come with what was `asked` before."""
    run = event.run
    row = None
    if len(key) > keys.KEY_MAX or "\0" in key:
        raise BadRequest(
            f"an idempotency key has at most {keys.KEY_MAX} characters, none of them NUL"
        )
    if key:
        digest = sha256(asked.encode()).hexdigest()
        kept = own_name(run.tenant, key)
        row = Idempotency(key=kept, run_id=run.id, request_hash=digest, created_at=run.created_at)
        earlier = await find_by_key(engine, row)
        if earlier is not None:
            return Started(earlier, created=False)
    answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    engine.advance.submit(StartJob(event, graph, answer, row, along))
    try:
        await answer
    except Exception:
        # Two calls with one key at the same moment: the other's run is ours too.
        earlier = await find_by_key(engine, row) if row is not None else None
        if earlier is None:
            raise
        return Started(earlier, created=False)
    return Started(run, created=True)


def checked_budget(given: object) -> Json:
    """What a run may use up, as it is kept; empty if nothing was said."""
    read = read_budget(given) if given is not None else NO_BUDGET
    if isinstance(read, str):
        raise BadRequest(f"budget: {read}")
    return read.json()


async def find_by_key(engine: Engine, row: Idempotency) -> Run | None:
    found = await keys.earlier(engine, row.key, row.request_hash)
    if found is None:
        return None
    async with engine.store.session() as session:
        runs = await session.rows(Run, [found.run_id])
    return runs[0] if runs else None


async def get_run(engine: Engine, run_id: str) -> Run:
    """A run by its id or a unique beginning of it."""
    if len(run_id) == _ID_CHARS:
        runs = await engine.store.page(Run, [Cond("id", "=", run_id)], limit=1)
    elif len(run_id) < 6:
        raise BadRequest(f'"{run_id}" is too short for a run id; give at least 6 characters')
    else:
        where = [Cond("id", ">=", run_id), Cond("id", "<", run_id + "\x7f")]
        runs = await engine.store.page(Run, where, limit=2)
        if len(runs) > 1:
            raise Conflict(f'"{run_id}" begins more than one run id; give more of it')
    if not runs:
        raise NotFound(f'no run "{run_id}"')
    return runs[0]


async def wait_run(engine: Engine, run_id: str, wait_s: float) -> Run:
    """The run once it has ended, or as it stands after the given time; by its id or a unique
    beginning of it."""
    deadline = asyncio.get_running_loop().time() + wait_s
    if len(run_id) != _ID_CHARS:
        run_id = (await get_run(engine, run_id)).id
    while True:
        end = engine.feed.run_ends.expect(run_id)
        try:
            run = await get_run(engine, run_id)
            left = deadline - asyncio.get_running_loop().time()
            if run.state in RUN_ENDED or left <= 0:
                return run
            # It may end in another process, so look now and then without being told.
            done, _ = await asyncio.wait([end], timeout=min(left, engine.settings.look_s))
            ended = end.result() if done else None
            if ended is not None:
                return ended
        finally:
            end.cancel()


async def snapshot(engine: Engine, run: Run) -> tuple[Run, dict[str, msgspec.Raw]]:
    """A run just read and its shared state, as they stood together at one moment."""
    while True:
        rows = await engine.store.query("shared_at", run_id=run.id)
        # Every change raises the run's seq.
        if rows and rows[0]["seq"] == run.seq:
            there = [row for row in rows if row["key"] is not None]
            return run, {row["key"]: msgspec.Raw(row["value"].encode()) for row in there}
        run = await get_run(engine, run.id)


async def shared_of(engine: Engine, scope: str) -> dict[str, msgspec.Raw]:
    """The shared keys of a scope."""
    where = [Cond("scope", "=", scope)]
    rows = await engine.store.page(Variable, where, order="key", limit=100_000)
    return {row.key: msgspec.Raw(row.value.encode()) for row in rows}


async def signal(
    engine: Engine, run_id: str, key: str, value: Json | msgspec.Raw, *along: Row
) -> None:
    if not key or len(key) > keys.KEY_MAX or "\0" in key:
        raise BadRequest(f"a signal needs a key of 1 to {keys.KEY_MAX} characters")
    event = SignalReceived(run_id, key, readable(value, "the signal's value"))
    await engine.submit(event, *along)


async def answer(
    engine: Engine, checkpoint_id: str, value: Any, *along: Row, by: str = "", note: str = ""
) -> None:
    run_id = checkpoint_id.partition("~")[0]
    await engine.submit(CheckpointAnswered(run_id, checkpoint_id, value, by, note), *along)


async def cancel(engine: Engine, run_id: str, reason: str = "", *along: Row) -> None:
    await engine.submit(CancelRequested(run_id, reason), *along)


async def set_priority(engine: Engine, run_id: str, priority: int, *along: Row) -> None:
    """Let what waits of a run go before others, or after them."""
    await engine.submit(PriorityChanged(run_id, priority), *along)


async def retry(
    engine: Engine, run_id: str, task: str | None, descendants: bool, *along: Row
) -> str:
    """Do a task again; returns its id."""
    answer: str = await engine.submit(RetryRequested(run_id, task, descendants), *along)
    return answer


async def patch_graph(engine: Engine, run_id: str, patch: Patch, revision: int) -> int:
    """Change a run's graph, made for one of its revisions; returns the new revision. The same again
    is the same."""
    answer: int = await engine.submit(PatchGraph(run_id, patch, revision))
    return answer


async def redo_preview(
    engine: Engine, run: Run, task_id: str | None, *, descendants: bool = False
) -> tuple[Task, list[str]]:
    """The task a retry would start from, and everything that would be done again with it."""
    graph = await engine.graphs.load_of(run)
    async with engine.store.session() as session:
        tasks = await session.run_tasks(run.id)
    # Its graph may have grown since the run was read; what came with that is no part of this.
    tasks = [task for task in tasks if task.node in graph.nodes]
    if graph.counts_edges and descendants:
        task, later = redone_from(graph, run, tasks, task_id)
        again = {row.id for row in later if row.id != task.id}
        if run.state in RUN_ENDED:
            again |= {row.id for row in tasks if row.id != task.id and is_undone(graph, row)}
        return task, [row.id for row in tasks if row.id in again]
    if graph.counts_edges:
        task, opened = reopened(graph, run, tasks, task_id)
        return task, [row.id for row in opened]
    task = find_task(tasks, task_id, run.id)
    return task, [row.id for row in descendants_of(tasks, task)] if descendants else [task.id]

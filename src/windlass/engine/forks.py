"""Forks: a run like one that has ended, done again from a task on."""

from collections.abc import Callable

from msgspec.structs import replace

from windlass.dialects.plan import ROOT
from windlass.engine.engine import Engine
from windlass.engine.runs import Started, begin, get_run
from windlass.kernel.events import ForkRun
from windlass.kernel.fork import renamed
from windlass.model.blackboard import BoardEntry, BoardPast
from windlass.model.dead_letters import DeadLetter
from windlass.model.errors import Conflict
from windlass.model.graph import Graph
from windlass.model.ids import node_path
from windlass.model.patches import GraphPatch
from windlass.model.rows import (
    Artifact,
    Attempt,
    Checkpoint,
    Event,
    Json,
    Row,
    Run,
    Task,
    Variable,
)
from windlass.model.states import RUN_ENDED
from windlass.model.values import readable
from windlass.ports.store import Cond

ROWS_MAX = 20_000
"""What a fork copies goes into one commit, which others wait for."""
_COPIED: tuple[tuple[type[Row], str], ...] = (
    (Task, "id"),
    (Attempt, "id"),
    (Variable, "key"),
    (Checkpoint, "id"),
    (GraphPatch, "rev"),
    (BoardEntry, "key"),
    (BoardPast, "revision"),
    (Artifact, "resource_id"),
    (DeadLetter, "id"),
    (Event, "seq"),
)


async def fork_run(
    engine: Engine,
    source: Run,
    task: str,
    given: Json | None = None,
    *,
    key: str = "",
    noted: Callable[[Run], Row] | None = None,
) -> Started:
    """Make another run that has done what `source` did before a task, and does the rest again. What
    is `noted` of it is in the commit that makes it."""
    if source.state not in RUN_ENDED:
        raise Conflict(f"run {source.id} is {source.state}; fork it once it has ended")
    if given is not None:
        given = readable(given, "the input")
    graph = await engine.graphs.load_of(source)
    rows = await _rows_of(engine, source)
    now, id_ = engine.store.now(), engine.new_id()
    quota = (await engine.rules()).quota_of_run(source.tenant, source.project)
    run = replace(source, id=id_, request_id=key, created_at=now, updated_at=now, quota=quota)
    event = ForkRun(
        run,
        source.id,
        [renamed(_without_costs(row), source.id, id_) for row in rows],
        _named(graph, source, task).replace(source.id, id_),
        given,
    )
    asked = f"fork\n{source.id}\n{task}\n{given}"
    along = (noted(run),) if noted is not None else ()
    return await begin(engine, event, graph, key=key, asked=asked, along=along)


def _named(graph: Graph, source: Run, task: str) -> str:
    """A task by its place in the run, its alias in a plan, its node or its id."""
    if task.startswith("~"):
        return f"{source.id}{task}"
    planned = node_path(ROOT, task)
    return planned if source.dialect == "plan" and planned in graph.nodes else task


async def _rows_of(engine: Engine, source: Run) -> list[Row]:
    """Everything a run has done, as it stood at one moment."""
    found: list[Row] = []
    for table, order in _COPIED:
        room = ROWS_MAX - len(found)
        where = [Cond("run_id", "=", source.id)]
        found += await engine.store.page(table, where, order=order, limit=room + 1)
        if len(found) > ROWS_MAX:
            raise Conflict(f"run {source.id} has done more than a fork can copy: {ROWS_MAX:,} rows")
    # Every change raises the run's seq, so the same seq afterwards means nothing came between.
    if (await get_run(engine, source.id)).seq != source.seq:
        raise Conflict(f"run {source.id} has changed meanwhile; look at it again")
    return found


def _without_costs(row: Row) -> Row:
    """An attempt without what it was given, said and used, which is the other run's."""
    if not isinstance(row, Attempt):
        return row
    return replace(row, log=None, notes=None, limits="", manifest="")

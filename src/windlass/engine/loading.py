"""Reads everything a pass is missing, in as few round trips as can be: whoever waits for the pass
waits for each of them, and for all that the event loop does in between."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from windlass.engine.graphs import Graphs
from windlass.engine.workspace import TABLES, LoadedRun
from windlass.kernel.checkpoints import open_checkpoint_id
from windlass.kernel.leases import is_held
from windlass.kernel.view import Need
from windlass.model.graph import Kind
from windlass.model.ids import attempt_id
from windlass.model.rows import (
    Attempt,
    BranchResult,
    Checkpoint,
    Row,
    Run,
    Task,
    Variable,
)
from windlass.ports.store import Session

_BY_NAME: dict[str, type[Row]] = {table.TABLE: table for table in TABLES}


async def load(session: Session, graphs: Graphs, needs: Sequence[tuple[LoadedRun, Need]]) -> None:
    """Fill the views with what they were asked for and did not have."""
    by_table: defaultdict[type[Row], dict[Any, LoadedRun]] = defaultdict(dict)
    scopes: dict[str, LoadedRun] = {}
    sets: list[tuple[LoadedRun, Need]] = []
    for view, need in needs:
        table = _BY_NAME.get(need.what)
        if table is Variable:
            # A node that reads one shared key mostly reads others too: read them all at once.
            scopes[need.key[0]] = view
        elif need.what == "scope_variables":
            scopes[need.key] = view
        elif table is not None:
            by_table[table][need.key] = view
        elif need.what == "graph":
            await graphs.try_load(need.key)
        else:
            sets.append((view, need))
    # Runs first: what is read after a run's row is at least as new as its `seq`, so if anything has
    # moved in between, saving finds out. Read the other way round, stale rows would pass for new.
    if by_table:
        in_order = sorted(by_table, key=lambda table: (table is not Run, table.TABLE))
        found = await session.rows_of({table: list(by_table[table]) for table in in_order})
        for table, views in by_table.items():
            rows = {row.pk: row for row in found[table]}
            for key, view in views.items():
                view.give(table, [key], [rows[key]] if key in rows else [])
    if scopes:
        for row in await session.variables(list(scopes)):
            scopes[row.scope].give(Variable, [], [row])
        for scope, view in scopes.items():
            view.whole_scopes.add(scope)
            view.sets[Need("scope_variables", scope)] = True
    for view, need in dict.fromkeys(sets):
        await load_set(session, view, need)


async def give_tasks(session: Session, view: LoadedRun, tasks: Sequence[Task]) -> None:
    """Tasks with what they hold: whoever ends many tasks at once takes that away as well."""
    view.give(Task, [], tasks)
    held = [attempt_id(t.id, t.attempts) for t in tasks if is_held(t)]
    asked = [
        open_checkpoint_id(t)
        for t in tasks
        if t.kind == Kind.APPROVAL or (t.kind == Kind.CALL and t.wait_key is not None)
    ]
    if held:
        view.give(Attempt, held, await session.rows(Attempt, held))
    if asked:
        view.give(Checkpoint, asked, await session.rows(Checkpoint, asked))


async def load_set(session: Session, view: LoadedRun, need: Need) -> None:
    """Read one set of rows of a run and remember that it is all there."""
    answer: Any = True
    match need.what:
        case "open_tasks":
            await give_tasks(session, view, await session.open_tasks([need.key]))
        case "run_tasks":
            await give_tasks(session, view, await session.run_tasks(need.key))
        case "waiting_tasks":
            view.give(Task, [], await session.waiting_tasks(*need.key))
        case "ended_branches":
            results: dict[int, BranchResult] = {}
            for result in await session.ended_branches(need.key):
                results[result.idx] = result
            answer = results
        case "signals":
            answer = await session.signals(need.key)
        case _:
            raise AssertionError(f"the kernel asked for {need}")
    view.sets[need] = answer

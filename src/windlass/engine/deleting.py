"""Deleting a run that has ended, with everything that is kept of it.

A long run is deleted in several commits, its own row last: until then it is there, and deleting it
again goes on where this was cut off. No commit counts if the run was reopened meanwhile.
"""

from typing import Any

from windlass.engine.engine import Engine
from windlass.engine.jobs import Outdated
from windlass.model.blackboard import BoardEntry, BoardPast
from windlass.model.budgets import SCALES, budget_key
from windlass.model.dead_letters import DeadLetter
from windlass.model.effects import Effect
from windlass.model.envs import EnvSession, EnvSnapshot, EnvState
from windlass.model.errors import Conflict
from windlass.model.ledger import Action, Approval
from windlass.model.limits import LimitUse, limit_id
from windlass.model.patches import GraphPatch
from windlass.model.pod_records import PodRecord
from windlass.model.rows import (
    Artifact,
    Attempt,
    Binding,
    Checkpoint,
    Event,
    Idempotency,
    LogChunk,
    Row,
    Run,
    Task,
    Timer,
    Variable,
)
from windlass.model.states import RUN_ENDED
from windlass.model.tenants import own_name
from windlass.ports.store import Cond

_ROWS_MAX = 2_000
"""Rows of one commit: others wait for it."""
OF_A_RUN: tuple[tuple[type[Row], str], ...] = (
    (Artifact, "resource_id"),
    (DeadLetter, "id"),
    (Binding, "package"),
    (Effect, "id"),
    (Variable, "key"),
    (LogChunk, "number"),
    (PodRecord, "kind"),
    (Checkpoint, "id"),
    (Timer, "due_at"),
    (BoardEntry, "key"),
    (BoardPast, "revision"),
    (Action, "id"),
    (Approval, "id"),
    (EnvSnapshot, "id"),
    (EnvSession, "id"),
    (Attempt, "id"),
    (Task, "id"),
    (GraphPatch, "rev"),
    (Event, "seq"),
)


async def delete_run(engine: Engine, run: Run, *along: Row) -> None:
    """Delete an ended run; Conflict if it has not ended, or goes on while it is deleted. The rows
    `along` are made in the commit that takes the run away."""
    if run.state not in RUN_ENDED:
        raise Conflict(f"run {run.id} is {run.state}; cancel it first")
    alive = [Cond("run_id", "=", run.id), Cond("state", "!=", str(EnvState.RELEASED))]
    if await engine.store.count(EnvSession, alive):
        raise Conflict(
            f"run {run.id} has environments that are not given back yet; try again in a moment,"
            " or see `windlass env ls`"
        )
    try:
        for table, order in OF_A_RUN:
            await _delete_all(engine, run, table, order)
        await _delete_budgets(engine, run)
        keys = [own_name(run.tenant, run.request_id)] if run.request_id else []
        removed: dict[type[Row], set[Any]] = {Run: {run.id}, Idempotency: set(keys)}
        await engine.write(*along, removed=removed, stands=(run,))
    except Outdated as error:
        raise Conflict(f"run {run.id} was changed while it was being deleted") from error
    finally:
        engine.advance.workspace.forget(run.id)


async def _delete_all(engine: Engine, run: Run, table: type[Row], order: str) -> None:
    where = [Cond("run_id", "=", run.id)]
    while True:
        rows = await engine.store.page(table, where, order=order, limit=_ROWS_MAX)
        if not rows:
            return
        await engine.write(removed={table: {row.pk for row in rows}}, stands=(run,))


async def _delete_budgets(engine: Engine, run: Run) -> None:
    """What was spent by the run and its tasks, whose ids begin with the run's."""
    for unit in SCALES:
        first = limit_id(run.tenant, budget_key(unit, run.id))
        where = [Cond("id", ">=", first), Cond("id", "<", first + "\x7f")]
        rows = await engine.store.page(LimitUse, where, limit=_ROWS_MAX)
        if rows:
            await engine.write(removed={LimitUse: {row.id for row in rows}}, stands=(run,))

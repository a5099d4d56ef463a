"""Reruns: a new run of the same version with the same parameters."""

from collections.abc import Callable

from windlass.engine import runs
from windlass.engine.engine import Engine
from windlass.engine.flows import Startable
from windlass.engine.runs import Started
from windlass.model.budgets import load_budget, written
from windlass.model.errors import NotFound
from windlass.model.rows import Row, Run, Version
from windlass.ports.store import Cond


async def rerun(
    engine: Engine, run: Run, key: str, noted: Callable[[Run], Row]
) -> tuple[Started, Startable]:
    """Start the same again; with a key, once however often it is asked for."""
    target = await target_of(engine, run)
    started = await runs.start_run(
        engine,
        target,
        run.params,
        key=key,
        tags=run.tags,
        priority=run.priority,
        noted=noted,
        budget=written(load_budget(run.budget)) or None,
        project=run.project,
    )
    return started, target


async def target_of(engine: Engine, run: Run) -> Startable:
    """What a run is a run of."""
    where = [Cond("id", "=", run.version_id)]
    version = await engine.store.page(Version, where, limit=1, heavy=False)
    if not version:
        raise NotFound(f"run {run.id} is of a version that is gone")
    return Startable(run.flow_id, run.flow_name, run.version_id, version[0].number, run.dialect)

"""A run whose definition this program cannot read stands still, says why, and holds nobody up."""

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from windlass.engine import flows, runs
from windlass.engine.attempts import Attempts
from windlass.engine.why import why
from windlass.model.rows import Run, Version
from windlass.model.states import RunState
from windlass.testing.local import local_engine

pytestmark = pytest.mark.anyio


def flow(func: str) -> dict[str, Any]:
    node = {"exec_type": "local_func", "func": func, "post": {"output_key": "out"}}
    return {"start": "a", "nodes": {"a": node}, "edges": []}


async def test_one_unreadable_definition_does_not_stop_the_queue() -> None:
    async with local_engine({"echo": lambda given, params: 1}, clock="fake") as local:
        engine = local.engine
        published = await flows.publish(engine, "old", flow("nobody"))
        started = await runs.start_run(engine, published.target)
        # As if a newer program had written something this one does not know.
        broken = Version(
            id=published.version.id,
            flow_id=published.flow.id,
            number=1,
            source='{"start": "?"}',
            created_at=0,
        )
        local.database.table(Version)[broken.id] = broken
        engine.graphs._graphs.clear()
        engine.advance.workspace.forget(started.run.id)
        task = next(iter((await local.look(started.run.id)).tasks))
        assert task.queue == "local:nobody"
        demand = Attempts(engine).want("w", ["local:nobody", "local:echo"], 4)
        await asyncio.sleep(0.05)
        other = await local.run(flow("echo"))
        assert other.state is RunState.SUCCEEDED
        demand.withdraw()
        run = await runs.get_run(engine, started.run.id)
        assert "cannot read the run's definition" in (await why(engine, run)).line


async def test_tasks_nobody_here_can_claim_do_not_starve_those_behind_them() -> None:
    """More of them than anybody asks for, at the head of a queue: they are passed over."""
    asked = {"start": "a", "nodes": {"a": {"exec_type": "queue", "service": "s"}}, "edges": []}
    async with local_engine({}, clock="fake") as local:
        engine = local.engine
        newer = await flows.publish(engine, "newer", asked)
        for _ in range(5):
            await runs.start_run(engine, newer.target)
        good = await local.start({**asked, "name": "good"})
        broken = replace(local.database.table(Version)[newer.version.id], source='{"start": "?"}')
        local.database.table(Version)[broken.id] = broken
        engine.graphs._graphs.clear()
        for run in list(local.database.table(Run)):
            engine.advance.workspace.forget(run)
        [given] = await Attempts(engine).claim("w", ["pull:s"], 1, 5)
        assert given.run_id == good

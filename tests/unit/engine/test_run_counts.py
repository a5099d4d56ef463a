"""Counts of runs: right at once for what happens here, without counting all of history."""

import pytest

from windlass.model.rows import Run
from windlass.testing.local import local_engine

pytestmark = pytest.mark.anyio

FLOW = {"start": "a", "nodes": {"a": {"exec_type": "local_func", "func": "f"}}, "edges": []}
ASK = {"start": "a", "nodes": {"a": {"kind": "approval"}}, "edges": []}


async def test_runs_that_end_and_begin_again_are_counted_as_they_stand() -> None:
    async with local_engine({"f": lambda given, params: 1}) as local:
        counts = local.engine.run_counts
        assert await counts.get(local.engine.store, "*") == {}
        first = await local.run(FLOW)
        await local.waits(await local.start(ASK))
        assert await counts.get(local.engine.store, "*") == {"succeeded": 1, "waiting": 1}
        await local.retry(first.run.id, "a", descendants=True)
        await local.ended(first.run.id)
        await local.run(FLOW)
        assert await counts.get(local.engine.store, "*") == {"succeeded": 2, "waiting": 1}
        local.database.table(Run).clear()
        assert (await counts.get(local.engine.store, "*"))["succeeded"] == 2, (
            "ended runs are not counted each time"
        )

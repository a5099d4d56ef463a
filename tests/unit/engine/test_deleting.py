"""Deleting runs: no table that holds something of a run is left out."""

import pytest

from windlass.engine.deleting import OF_A_RUN, delete_run
from windlass.model.access import Audit
from windlass.model.rows import Idempotency, Row
from windlass.ports.store import Writes
from windlass.testing.local import local_engine

FLOW = {"start": "a", "nodes": {"a": {"kind": "timer", "params": {"delay_ms": 1}}}, "edges": []}


def test_every_table_with_something_of_a_run_is_emptied() -> None:
    tables = {
        table
        for table in Row.__subclasses__()
        if hasattr(table, "TABLE") and "run_id" in table.__struct_fields__
    }
    assert {table for table, _ in OF_A_RUN} == tables - {Idempotency}


@pytest.mark.anyio
async def test_what_is_noted_of_a_deletion_is_in_its_commit() -> None:
    async with local_engine({}) as local:
        engine = local.engine
        run = (await local.run(FLOW)).run
        commits: list[Writes] = []
        engine.advance.listeners.append(commits.append)
        noted = Audit(id="noted", at=1, actor="me", action="run.delete", target_id=run.id)
        await delete_run(engine, run, noted)
        [last] = [writes for writes in commits if type(run) in writes.removed]
        assert last.made[Audit] == {"noted": noted}
        assert not any(Audit in writes.made for writes in commits if writes is not last)

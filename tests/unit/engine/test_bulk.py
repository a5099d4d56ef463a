"""Items of a bulk job: what became of each is said once, by whoever did it."""

from typing import Any

import pytest

from tests.unit.server.audit import WAITS
from windlass.engine import bulk
from windlass.engine.bulk import BulkWorker, start_job
from windlass.model.bulk import BULK, BulkAct, BulkItem, BulkState, ItemState
from windlass.model.effects import Effect
from windlass.testing.local import local_engine

pytestmark = pytest.mark.anyio


async def test_of_two_processes_with_one_slice_the_slower_says_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with local_engine({}) as local:
        engine = local.engine.of("default")
        run = await local.start(WAITS)
        job = await start_job(engine, BulkAct.CANCEL, [run], "somebody", job_id="job")
        [promise] = [row for row in local.database.table(Effect).values() if row.kind == BULK]
        act = bulk.act

        async def late(*args: Any) -> None:
            monkeypatch.setattr(bulk, "act", act)
            await BulkWorker(local.engine).do_slice(promise)
            await act(*args)

        monkeypatch.setattr(bulk, "act", late)
        await BulkWorker(local.engine).do_slice(promise)
        [item] = local.database.table(BulkItem).values()
        assert (item.state, item.detail) == (ItemState.DONE, "")
        assert (await bulk.get_job(engine, job.id)).state is BulkState.DONE

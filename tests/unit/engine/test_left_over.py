"""What a look finds and nobody had room for is looked for again, and does not wait for a sweep."""

import asyncio
from typing import Any

import pytest

from windlass.drivers.dispatch.local import function
from windlass.drivers.dispatch.runner import Runner
from windlass.engine import flows, runs
from windlass.engine.attempts import Attempts
from windlass.engine.engine import Engine
from windlass.model.states import RunState
from windlass.testing.local import real_ms
from windlass.testing.memory import MemoryDatabase, MemoryStore


async def work(value: Any, params: dict[str, Any]) -> str:
    await asyncio.sleep(0)
    return "done"


@pytest.mark.anyio
async def test_of_two_queues_with_less_room_than_tasks_both_are_emptied() -> None:
    engine = Engine(MemoryStore(MemoryDatabase(real_ms)), name="one")
    committing = asyncio.ensure_future(engine.advance.run())
    ids: list[str] = []
    for service, count in (("first", 2), ("second", 1)):
        node = {"exec_type": "queue", "service": service}
        published = await flows.publish(engine, service, {"start": "a", "nodes": {"a": node}})
        for _ in range(count):
            ids.append((await runs.start_run(engine, published.target, "{}")).run.id)
    serves = {f"pull:{name}": function(work) for name in ("first", "second")}
    working = asyncio.ensure_future(Runner(Attempts(engine), "worker", serves, 2).run())
    try:
        async with asyncio.timeout(3):
            for run_id in ids:
                ended = await runs.wait_run(engine, run_id, 3)
                assert ended.state is RunState.SUCCEEDED
    finally:
        for task in (working, committing):
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

"""Why a task is queued: the worker that is missing, and the one that is there in the wrong way."""

import pytest

from windlass.engine import runs, workers
from windlass.engine.why import why
from windlass.testing.local import local_engine

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("exec_type", "there", "told"),
    [
        ("http", "pull", "write exec_type: queue, or start it with --transport push"),
        ("queue", "push", "write exec_type: http, or start it with --transport pull"),
    ],
)
async def test_a_worker_of_the_wrong_transport_is_named(
    exec_type: str, there: str, told: str
) -> None:
    async with local_engine({}) as local:
        engine = local.engine
        node = {"exec_type": exec_type, "service": "s"}
        run_id = await local.start({"start": "a", "nodes": {"a": node}})
        alone = await why(engine, await runs.get_run(engine, run_id))
        assert alone.line.endswith('worker serves "s"')
        await workers.register(engine, "w-1", transport=there, url="http://w", services=["s"])
        found = await why(engine, await runs.get_run(engine, run_id))
    assert f"; w-1 serves it by {there}: {told}" in found.line

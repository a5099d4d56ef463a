"""Why a task is queued: the worker that is missing, and the one that is there in the wrong way."""

import json

import pytest
from msgspec.structs import replace

from windlass.engine import runs, workers
from windlass.engine.why import task_reason, why
from windlass.model.rows import Task, Worker
from windlass.model.states import TaskState
from windlass.protocol.reason_words import say
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


async def test_a_worker_on_the_link_counts_among_those_who_serve_a_task() -> None:
    async with local_engine({}) as local:
        engine = local.engine
        await workers.register(engine, "w-1", transport="link", services=["windlass.services@0"])
        known = await workers.get_worker(engine, "w-1")
        assert known is not None
        meta = json.dumps({workers.PLAIN: ["shout"]})
        await engine.update(Worker, "w-1", lambda worker: replace(worker, meta=meta))
        node = {"exec_type": "queue", "service": "shout"}
        run_id = await local.start({"start": "a", "nodes": {"a": node}})
        found = await why(engine, await runs.get_run(engine, run_id))
    assert 'all 1 pull workers for "shout" are busy' in found.line


@pytest.mark.parametrize(
    ("package", "told"),
    [
        ("windlass.services@0", 'no live link worker serves "shout"'),
        ("kit@1", "all 1 workers that have kit@1 are busy"),
    ],
)
async def test_the_services_of_link_workers_are_no_package_they_share(
    package: str, told: str
) -> None:
    async with local_engine({}) as local:
        engine = local.engine
        services = ["windlass.services@0", "kit@1"]
        await workers.register(engine, "w-1", transport="link", services=services)
        task = Task(
            id="r~a.1",
            run_id="r",
            scope="r",
            node="a",
            kind="call",
            state=TaskState.QUEUED,
            created_at=1,
            queue=f"link:{package}:shout",
        )
        reason = await task_reason(engine, task, None)
    assert say(reason, 1).endswith(told)

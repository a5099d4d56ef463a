"""Tasks that belong to one worker: when others may have them, and when they fail."""

import msgspec
import pytest

from tests.unit.engine.test_workflow_runs import Bench, bench
from tests.workflows import edge, node, workflow
from windlass.engine.loops.orphans import OrphanedTasks
from windlass.model.rows import Task, Worker
from windlass.model.states import TaskState

pytestmark = pytest.mark.anyio

KIT = "kit@1.0.0"


async def note(work: Bench, services: list[str], state: str = "online") -> None:
    engine = work.local.engine
    now = engine.store.now()
    told = msgspec.json.encode(services).decode()
    worker = Worker(
        id="w", transport="link", services=told, state=state, registered_at=now, seen_at=now
    )
    await engine.write(worker)


async def second_task(work: Bench, parameters: dict[str, object]) -> str:
    """A run whose second task waits for the worker of the first; returns the run."""
    nodes = [node("a"), node("b", parameters=parameters)]
    run_id = await work.start(workflow(nodes, [edge("a", "b")]))
    given = await work.next()
    await work.done(given, {"y": 1})
    return run_id


def waits_in(work: Bench, run_id: str) -> tuple[TaskState, str | None]:
    (task,) = [t for t in work.local.database.of_run(Task, run_id) if t.kind == "call"][-1:]
    return task.state, task.queue


PINNED: dict[str, object] = {
    "page": {"resourceRef": {"resourceId": "r", "workerId": "w", "type": "page"}}
}


async def test_what_waits_for_a_worker_without_the_package_goes_to_others() -> None:
    async with bench("a", "b") as work:
        run_id = await second_task(work, {})
        await note(work, [KIT])
        orphans = OrphanedTasks(work.local.engine)
        assert await orphans.run_once() == 0
        await note(work, [])
        assert await orphans.run_once() == 1
        assert waits_in(work, run_id) == (TaskState.QUEUED, f"link:{KIT}:kit.b")


async def test_what_only_a_living_worker_has_goes_on_waiting_for_it() -> None:
    async with bench("a", "b") as work:
        run_id = await second_task(work, PINNED)
        await note(work, [])
        await OrphanedTasks(work.local.engine).run_once()
        assert waits_in(work, run_id) == (TaskState.QUEUED, f"link@w:{KIT}:kit.b")
        await note(work, [KIT], state="offline")
        await OrphanedTasks(work.local.engine).run_once()
        state, _ = waits_in(work, run_id)
        assert state is TaskState.FAILED


async def test_nobody_is_gone_for_having_been_silent_while_nobody_listened() -> None:
    async with bench("a", "b") as work:
        run_id = await second_task(work, PINNED)
        await note(work, [KIT])
        clock = work.local._clock
        assert clock is not None
        clock.now_ms += 3_600_000  # the server was away for an hour
        orphans = OrphanedTasks(work.local.engine)
        assert await orphans.run_once() == 0
        assert waits_in(work, run_id)[0] is TaskState.QUEUED
        for _ in range(6):
            clock.now_ms += 10_000
            await orphans.run_once()
        assert waits_in(work, run_id)[0] is TaskState.FAILED

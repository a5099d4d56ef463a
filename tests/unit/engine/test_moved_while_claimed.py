"""A task that the very pass has moved is claimed for what it is now, or not at all."""

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from windlass.engine.attempts import Attempts
from windlass.engine.jobs import Job
from windlass.engine.loops.leases import Leases
from windlass.engine.passes import Pass
from windlass.kernel import claims, reports
from windlass.kernel.events import AttemptSucceeded, Claim, ParkTask, WakeTask
from windlass.kernel.turn import Turn
from windlass.model.assignment import Assignment
from windlass.model.rows import Attempt, Run, Task
from windlass.model.states import Role, TaskState
from windlass.ports.store import Cond
from windlass.testing.local import local_engine

pytestmark = pytest.mark.anyio


async def test_a_verdict_is_not_asked_of_whoever_waits_for_the_work_itself() -> None:
    node: dict[str, Any] = {"exec_type": "queue", "service": "make"}
    node["verification"] = {"verifier_profile": "judge", "exec_type": "queue"}
    async with local_engine({}) as local:
        engine = local.engine
        attempts = Attempts(engine)
        run_id = await local.start({"start": "a", "nodes": {"a": node}})
        [given] = await attempts.claim("w1", ["pull:make"], 1, 1.0)
        assert local._clock is not None
        local._clock.now_ms += 60_000
        await Leases(engine).run_once()
        [task] = local.database.of_run(Task, run_id)
        assert task.state is TaskState.QUEUED
        # The late result and somebody who waits for such work come to the same pass.
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        engine.advance.submit(Job(AttemptSucceeded(given.attempt_id, '"made"'), answer))
        waiting = attempts.want("w2", ["pull:make"], 1)
        assert await answer == "accepted"
        assert waiting.withdraw() == []
        [task] = local.database.of_run(Task, run_id)
        assert task.state is TaskState.VERIFYING
        roles = [attempt.role for attempt in local.database.of_run(Attempt, run_id)]
        assert Role.VERIFY not in roles


async def test_a_claim_that_old_rows_make_no_sense_of_is_looked_at_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """What is in memory may be of another moment than a task just read; nobody is at fault."""
    once, tries = claims.claim_task, list[Turn]()

    def claim_task(turn: Turn, task: Task, by: Claim) -> Assignment:
        tries.append(turn)
        assert len(tries) > 1, "these rows contradict each other"
        return once(turn, task, by)

    async with local_engine({}) as local:
        await local.start({"start": "a", "nodes": {"a": {"exec_type": "queue", "service": "make"}}})
        monkeypatch.setattr(reports, "claim_task", claim_task)
        [given] = await Attempts(local.engine).claim("w1", ["pull:make"], 1, 1.0)
        assert given.number == 1
    assert "cannot be claimed" not in caplog.text
    assert tries[0].view is not tries[1].view, "it was read again"


async def test_a_task_that_was_parked_since_its_run_was_read_is_woken_all_the_same() -> None:
    """Waking it by rows of before would change nothing, and so no save would find out; but the
    limit would count one less that waits."""
    node = {"exec_type": "queue", "service": "make", "limits": [{"key": "k", "max": 1}]}
    async with local_engine({}) as local:
        engine = local.engine
        attempts = Attempts(engine)
        for _ in range(2):
            await local.start({"start": "a", "nodes": {"a": node}})
        waiting = attempts.want("w1", ["pull:make"], 2)
        await waiting.assignments()
        [parked] = local.database.parked("default k")
        [run] = await engine.store.page(Run, [Cond("id", "=", parked.run_id)])
        work = Pass(engine.advance._shared, locked=False)
        async with engine.store.session() as work.session:
            view = engine.advance.workspace.view(run.id)
            before = replace(parked, state=TaskState.QUEUED, parked=None)
            view.give(Run, [run.id], [replace(run, seq=run.seq - 1)])
            view.give(Task, [parked.id], [before])
            work.give(parked)
            job = Job(WakeTask(parked.id))
            await work.decide_all([job])
        assert job.outcome is True


async def test_a_task_that_was_claimed_before_its_run_was_read_is_not_parked() -> None:
    """A pass finds tasks, and reads the run of one only then: the row it found is older than the
    run, and saving would not find out."""
    node = {"exec_type": "queue", "service": "make", "limits": [{"key": "k", "max": 1}]}
    async with local_engine({}) as local:
        engine = local.engine
        await local.start({"start": "a", "nodes": {"a": node}})
        [found] = await engine.store.page(Task, [Cond("state", "=", "queued")])
        await Attempts(engine).claim("w1", ["pull:make"], 1, 1.0)
        [run] = await engine.store.page(Run, [Cond("id", "=", found.run_id)])
        work = Pass(engine.advance._shared, locked=False)
        async with engine.store.session() as work.session:
            engine.advance.workspace.forget(run.id)
            engine.advance.workspace.view(run.id).give(Run, [run.id], [run])
            work.give(found)
            job = Job(ParkTask(found.id, "default k", None))
            await work.decide_all([job])
        assert job.outcome is not True
        engine.advance.workspace.forget(run.id)

"""Facts about pods: brought to their attempts, whoever states them and however often."""

import time
from typing import Any

import pytest

from windlass.engine import facts
from windlass.engine.attempts import Attempts
from windlass.kernel.events import AttemptDetached
from windlass.model.pods import FactOutcome
from windlass.protocol.pod_facts import Envelope, PodFact, PodReason, PodStatus
from windlass.testing.local import LocalEngine, local_engine

pytestmark = pytest.mark.anyio

FLOW = {
    "start": "a",
    "nodes": {"a": {"exec_type": "pod", "pod": {"image": "busybox:1.36"}, "max_retries": 3}},
}


def fact(**fields: Any) -> Envelope:
    data = {
        "task_id": "t",
        "workflow_id": "w",
        "status": PodStatus.SUCCEEDED,
        "event_id": "e",
        "pod_uid": "u1",
        "pod_name": "ff-1",
        "namespace": "default",
        "node": "n1",
        "reason": PodReason.COMPLETED,
        "observed_at": time.time(),
    }
    return Envelope(timestamp=1, data=PodFact(**{**data, **fields}))


async def launched(local: LocalEngine) -> tuple[str, str]:
    """A run whose only task is a pod; the run's id and the task's."""
    run_id = await local.start(FLOW)
    [given] = await Attempts(local.engine).claim("launcher", ["pod:default"], 1, 5)
    await local.engine.submit(AttemptDetached(given.attempt_id, "default/ff-1"))
    return run_id, given.task_id


async def test_a_fact_is_brought_to_its_attempt_by_task_or_by_pod() -> None:
    async with local_engine({}) as local:
        _, task = await launched(local)
        running = {"status": PodStatus.RUNNING, "reason": PodReason.RUNNING}
        said = fact(task_id=task, attempt=1, **running)
        assert await facts.state(local.engine, said) is FactOutcome.ACCEPTED
        assert await facts.state(local.engine, fact(**running)) is FactOutcome.DUPLICATE
        assert await facts.state(local.engine, fact()) is FactOutcome.ACCEPTED
        assert await facts.state(local.engine, fact()) is FactOutcome.DUPLICATE


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"task_id": "no~such.1", "attempt": 1},
        {"task_id": "\0~", "attempt": -1},
        {"task_id": "~" * 5_000, "attempt": 1},
        {"pod_name": "\0"},
    ],
)
async def test_a_fact_about_nothing_that_is_known_says_so(fields: dict[str, Any]) -> None:
    async with local_engine({}) as local:
        assert await facts.state(local.engine, fact(**fields)) is FactOutcome.UNKNOWN


async def test_a_fact_of_another_attempt_or_pod_is_stale() -> None:
    async with local_engine({}) as local:
        _, task = await launched(local)
        assert await facts.state(local.engine, fact(attempt=2)) is FactOutcome.STALE
        other = fact(task_id=task, attempt=1, pod_name="ff-2")
        assert await facts.state(local.engine, other) is FactOutcome.STALE

"""`POST /api/v1/facts`: many facts at once, each told what became of it."""

import time
from typing import Any

import msgspec
import pytest

from tests.unit.server.audit import Said, api
from windlass.engine import facts
from windlass.engine.attempts import Attempts
from windlass.kernel.events import AttemptDetached
from windlass.model.tenants import Tenant
from windlass.protocol.facts_api import FactsBody

pytestmark = pytest.mark.anyio

FLOW = {"start": "a", "nodes": {"a": {"exec_type": "pod", "pod": {"image": "busybox:1.36"}}}}


def fact(task_id: str, status: str, reason: str, **more: Any) -> dict[str, Any]:
    data = {
        "task_id": task_id,
        "workflow_id": "w",
        "status": status,
        "event_id": f"{task_id} {reason}",
        "pod_uid": "u1",
        "pod_name": "ff-1",
        "namespace": "default",
        "node": "n1",
        "reason": reason,
        "observed_at": time.time(),
        "attempt": 1,
        **more,
    }
    return {"type": "task_status", "timestamp": 1, "data": data}


async def launched(said: Said) -> tuple[str, str]:
    run_id = await said.local.start(FLOW)
    [given] = await Attempts(said.local.engine).claim("launcher", ["pod:default"], 1, 5)
    await said.local.engine.submit(AttemptDetached(given.attempt_id, "default/ff-1"))
    return run_id, given.task_id


async def test_each_fact_is_told_what_became_of_it() -> None:
    async with api() as said:
        run_id, task = await launched(said)
        done = fact(task, "SUCCEEDED", "Completed", exit_code=0)
        events = [
            fact(task, "RUNNING", "Running"),
            done,
            done,
            fact("nobody~a.1", "RUNNING", "Running"),
            fact(task, "FAILED", "Error", pod_uid="u0"),
        ]
        answer = await said.http.post("/api/v1/facts", json={"events": events})
        assert answer.status_code == 200
        assert answer.json() == {
            "outcomes": ["accepted", "accepted", "duplicate", "unknown", "stale"]
        }
        assert (await said.local.ended(run_id)).state == "succeeded"
        assert said.local.engine.fact_counts["accepted"] == 2


async def test_what_cannot_be_meant_is_refused_whole_and_changes_nothing() -> None:
    async with api() as said:
        _, task = await launched(said)
        before = said.local.database.commits
        good = fact(task, "RUNNING", "Running")
        for events, words in (
            ([good, {**good, "type": "quota"}], "events[1].type"),
            ([good, fact(task, "PENDING", "Running")], "events[1].data.status"),
            ([good] * 1001, "at most 1,000"),
        ):
            answer = await said.http.post("/api/v1/facts", json={"events": events})
            assert answer.status_code == 400
            assert words in answer.text
        assert said.local.database.commits == before


async def test_who_speaks_for_one_tenant_says_nothing_of_anothers_pods() -> None:
    async with api() as said:
        _, task = await launched(said)
        await said.local.engine.write(Tenant(id="other", created_at=0))
        await said.local.engine.refresh_tenants()
        body = msgspec.convert({"events": [fact(task, "RUNNING", "Running")]}, FactsBody)
        other = said.local.engine.of("other")
        assert await facts.state_all(other, body.events) == ["unknown"]


async def test_a_token_bound_to_a_worker_states_no_facts_of_pods() -> None:
    """It speaks for that worker alone, and a pod's attempt is none of its worker's."""
    async with api(admin="the admin's token") as said:
        run_id, task = await launched(said)
        tokens: dict[str, str] = {}
        for workers in ("w1", ""):
            body = {"name": f"of {workers}", "role": "worker", "workers": workers}
            answer = await said.http.post("/api/v1/tokens", json=body)
            tokens[workers] = answer.json()["token"]
        events = [fact(task, "FAILED", "Error", exit_code=1)]
        before = said.local.database.commits
        bound, free = ({"Authorization": f"Bearer {tokens[key]}"} for key in ("w1", ""))
        answer = await said.http.post("/api/v1/facts", json={"events": events}, headers=bound)
        assert answer.status_code == 403, answer.text
        assert 'is for worker "w1"' in answer.json()["detail"]
        assert said.local.database.commits == before
        answer = await said.http.post("/api/v1/facts", json={"events": events}, headers=free)
        assert answer.json() == {"outcomes": ["accepted"]}
        assert (await said.local.ended(run_id)).state == "failed"

"""Every way a pod can end, from the API server to Redis, and how long that takes."""

import time
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
import redis.asyncio

from tests.integration.collector.harness import (
    Stream,
    collecting,
    play,
    redis_sink,
    settings,
    until,
)
from windlass.protocol.pod_facts import CHANNEL
from windlass.testing.kube import KubeServer, kinds
from windlass.testing.kube.kinds import FAILURES, TIMED
from windlass.testing.servers import RedisServer

pytestmark = [pytest.mark.anyio, pytest.mark.redis]
LATEST_S = 10.0


async def test_every_kind_of_failure_reaches_redis_in_time_and_as_itself(
    kube: KubeServer, redis_server: RedisServer, stream: Stream, tmp_path: Path
) -> None:
    assert len(FAILURES) >= 20
    own = settings(kube, tmp_path / "spool.db", node="")
    async with collecting(own, redis_sink(redis_server.url)) as collector:
        await until(lambda: collector.observer.synced)
        played: dict[str, float] = {}
        for kind in FAILURES:
            play(kube, kind, kind.name)
            played[kind.name] = time.time()
        arrived: dict[str, float] = {}

        def all_ended() -> bool:
            for task in stream.ended():
                arrived.setdefault(task, time.time())
            return len(arrived) == len(FAILURES)

        await until(all_ended)
    facts = {envelope.data.task_id: envelope.data for envelope in stream.all()}
    for kind in FAILURES:
        fact = facts[kind.name]
        assert (fact.status, fact.reason) == (kind.said, kind.reason), kind.name
        assert fact.terminated_reason == kind.terminated_reason, kind.name
        assert fact.exit_code == kind.exit_code, kind.name
        assert (fact.namespace, fact.pod_name, fact.tenant_id) == ("default", kind.name, "a")
        assert (fact.node, fact.attempt) == (kind.node or None, 1)
        # One second is the deadline of those that wait for one.
        took = arrived[kind.name] - played[kind.name] - (1 if kind.name in TIMED else 0)
        assert took < LATEST_S, kind.name


async def test_an_event_is_the_seeds_envelope_on_the_channel_and_in_the_stream(
    kube: KubeServer, redis_server: RedisServer, stream: Stream, tmp_path: Path
) -> None:
    client: Any = redis.asyncio.Redis.from_url(redis_server.url)
    async with client.pubsub() as channel:
        await channel.subscribe(CHANNEL)
        own = settings(kube, tmp_path / "spool.db")
        async with collecting(own, redis_sink(redis_server.url)):
            kube.pods.create("default", kinds.workload("p1", "t1"))
            at = kinds.now()
            end = kinds.failed(at, kinds.ended(3, "Error", at, message="no rows"))
            made = kube.pods.patch_status("default", "p1", {"status": end})
            heard = None
            with anyio.fail_after(10):
                while heard is None or heard["type"] != "message":
                    heard = await channel.get_message(timeout=1)
    await client.aclose()
    event = msgspec.json.decode(heard["data"])
    data = event["data"]
    assert event["type"] == "task_status"
    assert event["timestamp"] == int(at)
    assert abs(data.pop("observed_at") - time.time()) < 60
    assert len(data.pop("event_id")) == 32
    assert data == {
        "task_id": "t1",
        "workflow_id": "w1",
        "status": "FAILED",
        "message": "no rows",
        "exit_code": 3,
        "pod_uid": made["metadata"]["uid"],
        "pod_name": "p1",
        "namespace": "default",
        "node": "n1",
        "tenant_id": "a",
        "attempt": 1,
        "reason": "Error",
    }
    assert [msgspec.json.encode(found) for found in stream.all()] == [heard["data"]]


async def test_a_node_sees_its_own_pods_and_strangers_are_left_out(
    kube: KubeServer, redis_server: RedisServer, stream: Stream, tmp_path: Path
) -> None:
    def begin(name: str, node: str, **labels: str | None) -> None:
        made = kinds.workload(name, name, node=node)
        for key, value in labels.items():
            made["metadata"]["labels"][f"flowforge.io/{key.replace('_', '-')}"] = value
        made["metadata"]["labels"] = {
            key: value for key, value in made["metadata"]["labels"].items() if value is not None
        }
        kube.pods.create("default", made)
        kube.pods.patch_status("default", name, {"status": kinds.running(kinds.now())})

    begin("mine", "n1")
    begin("others", "n2")
    begin("nobodys", "n1", workload=None)
    begin("nameless", "n1", task_id=None)
    async with collecting(
        settings(kube, tmp_path / "spool.db"), redis_sink(redis_server.url)
    ) as collector:
        await until(lambda: collector.observer.synced and not collector.spool.pending)
        begin("last", "n1")
        await until(lambda: "last" in stream.by_task())
    assert stream.by_task() == {"mine": ["RUNNING"], "last": ["RUNNING"]}


async def test_a_pod_that_vanished_while_nobody_looked_is_reported(
    kube: KubeServer, redis_server: RedisServer, stream: Stream, tmp_path: Path
) -> None:
    own = settings(kube, tmp_path / "spool.db")
    for name in ("cut-off", "done", "kept"):
        kube.pods.create("default", kinds.workload(name, name))
        kube.pods.patch_status("default", name, {"status": kinds.running(kinds.now())})
    async with collecting(own, redis_sink(redis_server.url)):
        await until(lambda: len(stream.by_task()) == 3)
        at = kinds.now()
        ended = {"phase": "Succeeded", "containerStatuses": [kinds.ended(0, "Completed", at)]}
        kube.pods.patch_status("default", "done", {"status": ended})
        await until(lambda: "done" in stream.ended())
    for name in ("cut-off", "done"):
        kube.pods.delete("default", name, {"gracePeriodSeconds": 0})
    async with collecting(own, redis_sink(redis_server.url)):
        await until(lambda: "cut-off" in stream.ended())
    assert stream.by_task() == {
        "cut-off": ["RUNNING", "CANCELED"],
        "done": ["RUNNING", "SUCCEEDED"],
        "kept": ["RUNNING"],
    }
    assert stream.all()[-1].data.terminated_reason == "DeletedByUser"


async def test_a_pod_that_only_lost_its_label_is_not_reported_as_deleted(
    kube: KubeServer, redis_server: RedisServer, stream: Stream, tmp_path: Path
) -> None:
    for name in ("unmarked", "deleted"):
        kube.pods.create("default", kinds.workload(name, name))
        kube.pods.patch_status("default", name, {"status": kinds.running(kinds.now())})
    own = settings(kube, tmp_path / "spool.db")
    async with collecting(own, redis_sink(redis_server.url)):
        await until(lambda: len(stream.by_task()) == 2)
        labels = {"flowforge.io/workload": None}
        kube.pods.patch("default", "unmarked", {"metadata": {"labels": labels}})
        kube.pods.delete("default", "deleted", {"gracePeriodSeconds": 0})
        await until(lambda: "deleted" in stream.ended())
    assert stream.by_task()["unmarked"] == ["RUNNING"]


async def test_a_pod_nobody_can_read_holds_up_nobody_else(
    kube: KubeServer, redis_server: RedisServer, stream: Stream, tmp_path: Path
) -> None:
    for name in ("bad", "good"):
        kube.pods.create("default", kinds.workload(name, name))
        kube.pods.patch_status("default", name, {"status": kinds.running(kinds.now())})
    kube.pods.patch_status("default", "bad", {"status": {"startTime": "yesterday"}})
    own = settings(kube, tmp_path / "spool.db")
    async with collecting(own, redis_sink(redis_server.url)) as collector:
        await until(lambda: "good" in stream.by_task())
        kube.pods.patch_status("default", "bad", {"status": {"startTime": "tomorrow"}})
        kube.pods.delete("default", "good", {"gracePeriodSeconds": 0})
        await until(lambda: "good" in stream.ended())
        text = collector.metrics.text({}, {})
    assert 'windlass_collector_failed_total{tenant=""} 2' in text

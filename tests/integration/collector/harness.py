"""A collector, a Pod API server and a Redis, and what went from one to the other."""

import contextlib
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import msgspec
import redis

from windlass.collector.redis_sink import RedisSink
from windlass.collector.report import Sink
from windlass.collector.serve import Collector, CollectorSettings
from windlass.collector.watch import WatchSettings
from windlass.kube.access import KubeAccess
from windlass.kube.interpret import Deadlines
from windlass.protocol.pod_facts import STREAM, Envelope
from windlass.testing.kube import KubeServer, kinds
from windlass.testing.kube.kinds import Kind

QUICK = Deadlines(unschedulable_s=1, creating_s=1, leaving_s=1)


class Stream:
    """What arrived in Redis, read anew each time."""

    def __init__(self, url: str) -> None:
        self._client: redis.Redis = redis.Redis.from_url(url)

    def clear(self) -> None:
        self._client.delete(STREAM)

    def all(self) -> list[Envelope]:
        try:
            rows: Any = self._client.xrange(STREAM)
        except redis.RedisError:
            return []  # it is away just now
        return [msgspec.json.decode(fields[b"event"], type=Envelope) for _, fields in rows]

    def by_task(self) -> dict[str, list[str]]:
        """The statuses of each task in order, an event that came twice counted once."""
        found: dict[str, list[str]] = {}
        seen: set[str] = set()
        for envelope in self.all():
            if envelope.data.event_id not in seen:
                seen.add(envelope.data.event_id)
                found.setdefault(envelope.data.task_id, []).append(envelope.data.status)
        return found

    def ended(self) -> set[str]:
        return {task for task, said in self.by_task().items() if said[-1] != "RUNNING"}

    def close(self) -> None:
        self._client.close()


def settings(kube: KubeServer, spool: Path, **more: Any) -> CollectorSettings:
    watch = {"namespace": "", "pause_most_s": 0.3, **more.pop("watch", {})}
    node = more.get("node", "n1")
    return CollectorSettings(
        access=KubeAccess(kube.url),
        spool=spool,
        deadlines=more.pop("deadlines", QUICK),
        watch=WatchSettings(**{**watch, "node": node}),
        **more,
    )


@contextlib.asynccontextmanager
async def collecting(settings: CollectorSettings, sink: Sink) -> AsyncIterator[Collector]:
    collector = Collector(settings, sink)
    async with anyio.create_task_group() as group:
        group.start_soon(collector.run)
        try:
            yield collector
        finally:
            group.cancel_scope.cancel()


def redis_sink(url: str) -> RedisSink:
    return RedisSink([url])


def play(kube: KubeServer, kind: Kind, task: str) -> None:
    """One pod's whole life, as a cluster would write it."""
    kube.pods.create("default", kinds.workload(task, task, node=kind.node))
    kube.pods.patch_status("default", task, {"status": kind.status(kinds.now())})
    if kind.deleted:
        kube.pods.delete("default", task, {})
        kube.pods.delete("default", task, {"gracePeriodSeconds": 0})


async def until(check: Any, timeout_s: float = 20.0) -> None:
    """Ask until it is so; what is asked lives in other processes."""
    deadline = time.monotonic() + timeout_s
    while not check():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {timeout_s} s in vain")
        await anyio.sleep(0.02)

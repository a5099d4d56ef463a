"""A collector's facts reach the runs they are about, by Redis and by HTTP, whatever is killed.

The launcher itself looks at pods only once an hour here: what a run hears, the collector said.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.integration.pods import TOKEN, Cluster, cluster_on
from windlass.testing.kube import KubeServer, kinds
from windlass.testing.processes import Process, wait_until
from windlass.testing.servers import RedisServer, running

SELDOM = ("--kube-sync-s", "3600")
RUNS = 12


@contextmanager
def collecting(kube: KubeServer, folder: Path, *to: str) -> Iterator[Process]:
    args = ("--kube-url", kube.url, "--spool", str(folder / "spool.db"), *to)
    with Process("collector", *args, log=folder / "collector.log") as collector:
        yield collector


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisServer]:
    folder = tmp_path / "redis"
    folder.mkdir()
    with running(RedisServer(folder)) as server:
        yield server


def counted(cluster: Cluster, outcome: str) -> int:
    name = f'windlass_facts_total{{outcome="{outcome}"}} '
    lines = cluster.http.get("/metrics").text.splitlines()
    return sum(int(line.removeprefix(name)) for line in lines if line.startswith(name))


def test_by_redis_none_is_lost_while_redis_collector_and_server_are_killed(
    redis: RedisServer, tmp_path: Path, fresh_database: str
) -> None:
    with (
        KubeServer() as kube,
        cluster_on(
            fresh_database, kube, tmp_path / "log", *SELDOM, "--redis", redis.url
        ) as cluster,
        collecting(kube, tmp_path, "--redis", redis.url) as collector,
    ):
        runs = [cluster.start(grace_s=1) for _ in range(RUNS)]
        pods = [cluster.begin(run) for run in runs]
        for pod in pods[:4]:
            cluster.succeed(pod)
        collector.kill()
        redis.restart()
        for pod in pods[4:8]:
            cluster.succeed(pod)
        collector.start()
        cluster.server.kill()
        for pod in pods[8:]:
            cluster.succeed(pod)
        cluster.server.start()
        for run in runs:
            cluster.until(run, "succeeded")
            assert [row["number"] for row in cluster.attempts(run)] == [1], "no second try"
        assert cluster.http.get("/api/v1/dead-letters").json()["items"] == []


def test_by_http_a_failure_is_told_with_its_reason_and_once(tmp_path: Path) -> None:
    db, log = f"sqlite:///{tmp_path / 'w.db'}", tmp_path / "log"
    with (
        KubeServer() as kube,
        cluster_on(db, kube, log, *SELDOM) as cluster,
        collecting(kube, tmp_path, "--server", cluster.server.url, "--token", TOKEN),
    ):
        run = cluster.start(grace_s=1)
        pod = cluster.begin(run)
        at = kinds.now()
        cluster.set(pod, kinds.failed(at, kinds.ended(3, "Error", at, message="no rows")))
        cluster.until(run, "failed")
        [attempt] = cluster.attempts(run)
        assert "no rows" in str(attempt["error"])
        wait_until(lambda: counted(cluster, "accepted") == 2)  # running, and how it ended
        assert counted(cluster, "unknown") == 0

"""Nothing that was seen is lost: killed at any step, without Redis, in an API server's weather."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.collector.dying import STEPS
from tests.integration.collector.harness import Stream
from windlass.testing import servers
from windlass.testing.kube import KubeServer, kinds
from windlass.testing.processes import Process, wait_until
from windlass.testing.servers import RedisServer

pytestmark = pytest.mark.redis
PODS = 12


def begin(kube: KubeServer, name: str) -> None:
    kube.pods.create("default", kinds.workload(name, name))
    kube.pods.patch_status("default", name, {"status": kinds.running(kinds.now())})


def end(kube: KubeServer, name: str, code: int = 0) -> None:
    at = kinds.now()
    phase, reason = ("Failed", "Error") if code else ("Succeeded", "Completed")
    status = {"phase": phase, "containerStatuses": [kinds.ended(code, reason, at)]}
    kube.pods.patch_status("default", name, {"status": status})


def arguments(kube: KubeServer, redis_url: str, folder: Path) -> list[str]:
    where = ["--redis", redis_url, "--kube-url", kube.url, "--node", "n1"]
    return ["collector", *where, "--spool", str(folder / "spool.db")]


@pytest.mark.parametrize(("step", "call"), [(step, 1 + at % 2) for at, step in enumerate(STEPS)])
def test_a_collector_killed_at_any_step_repeats_and_never_loses(
    step: str,
    call: int,
    kube: KubeServer,
    redis_server: RedisServer,
    stream: Stream,
    tmp_path: Path,
) -> None:
    names = [f"p{number}" for number in range(PODS)]
    for name in names[: PODS // 2]:
        begin(kube, name)
    args = arguments(kube, redis_server.url, tmp_path)
    command = [sys.executable, "-m", "tests.integration.collector.dying", *args]
    env = {**os.environ, "DIE_AT": step, "DIE_AT_CALL": str(call)}
    with (tmp_path / "log").open("wb") as log:
        dying = subprocess.Popen(command, env=env, stdout=log, stderr=log)
    try:
        if call == 2:
            wait_until(lambda: len(stream.by_task()) == PODS // 2 or dying.poll() is not None)
        for name in names[PODS // 2 :]:
            begin(kube, name)
        assert dying.wait(30) == -signal.SIGKILL, (tmp_path / "log").read_text()
    finally:
        dying.kill()
        dying.wait()
    # One of them goes while nobody looks.
    kube.pods.delete("default", "p0", {"gracePeriodSeconds": 0})
    end(kube, "p1", code=4)
    with Process(*args, log=tmp_path / "log") as process:
        wait_until(lambda: len(stream.by_task()) >= PODS - 1 and "p1" in stream.ended())
        wait_until(lambda: "p0" in stream.ended() or "p0" not in stream.by_task())
        process.stop()
    told = stream.by_task()
    for name in names[2:]:
        assert told[name] == ["RUNNING"], name
    assert told["p1"][-1] == "FAILED"
    # Seen by the first one, so its end is told; it may also have died before it saw any.
    assert "p0" not in told or told["p0"] == ["RUNNING", "CANCELED"]
    if step != "before-write" and call == 2:
        assert "p0" in told
    count = len(stream.all())
    with Process(*args, log=tmp_path / "log"):
        begin(kube, "last")
        wait_until(lambda: "last" in stream.by_task())
    assert len(stream.all()) == count + 1, "a restart says nothing old twice"


@pytest.fixture
def own_redis() -> Iterator[RedisServer]:
    with servers.redis() as server:
        yield server


def test_nothing_is_lost_in_bad_weather(
    kube: KubeServer, own_redis: RedisServer, tmp_path: Path
) -> None:
    """Watches cut every second, 410, 429 and 500, Redis killed, the collector killed."""
    rng = random.Random(7)
    stream = Stream(own_redis.url)
    kube.faults.cut_watches_after_s = 1.0
    args = arguments(kube, own_redis.url, tmp_path)
    process = Process(*args, log=tmp_path / "log")
    process.start()
    ended: dict[str, str] = {}
    try:
        for number in range(120):
            name = f"p{number}"
            begin(kube, name)
            if rng.random() < 0.8:
                how = rng.choice(["SUCCEEDED", "FAILED"])
                end(kube, name, code=int(how == "FAILED"))
                ended[name] = how
            match number:
                case 20 | 70:
                    own_redis.kill()
                case 35 | 85:
                    own_redis.start()
                case 45 | 100:
                    process.kill()
                    process.start()
                case 55:
                    kube.objects.compact()
                    kube.cut_watches()
            if number % 7 == 0:
                code = (410, 429, 500)[number // 7 % 3]
                verb = rng.choice(["list", "watch", "watch"])
                kube.faults.refuse(code, verb=verb, retry_after_s=1 if code == 429 else None)
            time.sleep(0.05)
        wait_until(lambda: stream.ended() >= ended.keys() and len(stream.by_task()) == 120)
    finally:
        process.kill()
    assert set(kube.faults.met) == {410, 429, 500}
    told = stream.by_task()
    stream.close()
    for name, said in told.items():
        assert said[-1] == ended.get(name, "RUNNING"), name
        assert len(said) <= 2, name


def test_without_redis_everything_waits_in_order_and_the_log_says_so(
    kube: KubeServer, own_redis: RedisServer, tmp_path: Path
) -> None:
    own_redis.kill()
    args = arguments(kube, own_redis.url, tmp_path)
    with Process(*args, log=tmp_path / "log"):
        for number in range(50):
            begin(kube, f"p{number:02}")
        wait_until(lambda: "Redis takes nothing" in (tmp_path / "log").read_text())
        own_redis.start()
        stream = Stream(own_redis.url)
        wait_until(lambda: len(stream.by_task()) == 50)
    names = [envelope.data.task_id for envelope in stream.all()]
    stream.close()
    assert names == sorted(names)
    assert "publishing again" in (tmp_path / "log").read_text()

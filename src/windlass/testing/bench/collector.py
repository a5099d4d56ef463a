"""What a collector costs: memory, processor and lag, with many pods that change all the time.

`python -m windlass.testing.bench.collector --pods 10000 --rate 1000` fills a Pod API server, starts
a real collector and a real Redis, moves every pod to running and to its end, and measures from the
moment a change is made to the moment it can be read from the stream.
"""

import argparse
import contextlib
import sys
import tempfile
import threading
import time
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import psutil
import redis

from windlass.protocol.pod_facts import STREAM
from windlass.testing import servers
from windlass.testing.kube import KubeServer, kinds
from windlass.testing.processes import Process, wait_until

MEMORY_MAX_MIB, CORES_MAX, LAG_P95_MAX_S = 128.0, 0.5, 1.0


ENV = [{"name": f"FLOWFORGE_SETTING_{n}", "value": f"value {n}"} for n in range(20)]
BALLAST: list[dict[str, Any]] = [
    {
        "manager": manager,
        "operation": "Update",
        "apiVersion": "v1",
        "time": "2026-01-01T00:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": {f"f:field{n}": {".": {}, "f:value": {}} for n in range(25)},
    }
    for manager in ("launcher", "kubelet")
]
"""Real pods carry 4 kB and more, most of which nobody here reads."""


class _Data(msgspec.Struct):
    task_id: str
    status: str


class _Event(msgspec.Struct):
    data: _Data


@dataclass
class Arrivals:
    """When each change could be read from Redis, in a thread of its own."""

    url: str
    at: dict[tuple[str, str], float] = field(default_factory=dict[tuple[str, str], float])
    stop: threading.Event = field(default_factory=threading.Event)

    def read(self) -> None:
        client: Any = redis.Redis.from_url(self.url)  # pyright: ignore[reportUnknownMemberType]
        decode = msgspec.json.Decoder(_Event).decode
        last = b"0"
        while not self.stop.is_set():
            for _, rows in client.xread({STREAM: last}, count=500, block=100) or ():
                now = time.time()
                for last, fields in rows:  # noqa: B007  the next read begins after it
                    data = decode(fields[b"event"]).data
                    self.at.setdefault((data.task_id, data.status), now)
        client.close()


@contextlib.contextmanager
def reading(url: str) -> Generator[Arrivals]:
    arrivals = Arrivals(url)
    thread = threading.Thread(target=arrivals.read, daemon=True)
    thread.start()
    yield arrivals
    arrivals.stop.set()
    thread.join()


def fill(kube: KubeServer, pods: int) -> list[str]:
    """Pods of a hundred nodes and twenty tenants that wait for their containers."""
    names = [f"p{number:06}" for number in range(pods)]
    status = kinds.pending(kinds.now(), kinds.waiting("ContainerCreating"))
    for number, name in enumerate(names):
        pod = kinds.workload(name, name, f"n{number % 100}", f"t{number % 20}")
        pod["metadata"]["managedFields"] = BALLAST
        pod["spec"]["containers"][0]["env"] = ENV
        kube.pods.create("default", pod)
        kube.pods.patch_status("default", name, {"status": status})
    return names


def change(kube: KubeServer, names: list[str], rate: float) -> dict[tuple[str, str], float]:
    """Each pod runs, then each one ends, so many changes a second; when each was made."""
    made: dict[tuple[str, str], float] = {}
    began, count = time.time(), 0
    for status in ("RUNNING", "SUCCEEDED"):
        for name in names:
            early = began + count / rate - time.time()
            if early > 0:
                time.sleep(early)
            at = time.time()
            body = kinds.running(at)
            if status == "SUCCEEDED":
                body |= {"phase": status.title(), "containerStatuses": [_done(at)]}
            made[name, status] = time.time()
            kube.pods.patch_status("default", name, {"status": body})
            count += 1
    return made


def _done(at: float) -> dict[str, Any]:
    return kinds.ended(0, "Completed", at)


@dataclass
class Use:
    """What a process used while it was watched."""

    pid: int
    peak_mib: float = 0.0
    stop: threading.Event = field(default_factory=threading.Event)

    def watch(self) -> None:
        process = psutil.Process(self.pid)
        while not self.stop.wait(0.1):
            self.peak_mib = max(self.peak_mib, process.memory_info().rss / 2**20)

    def cpu_s(self) -> float:
        times = psutil.Process(self.pid).cpu_times()
        return times.user + times.system


def measure(pods: int, rate: float, folder: Path) -> dict[str, float]:
    with servers.redis() as store, KubeServer() as kube, reading(store.url) as arrivals:
        names = fill(kube, pods)
        where = ["--redis", store.url, "--kube-url", kube.url, "--spool", str(folder / "spool.db")]
        # Without a node: it sees the whole cluster.
        with Process("collector", *where, "--creating-s", "3600", log=folder / "log") as process:
            use = Use(process.pid)
            watching = threading.Thread(target=use.watch, daemon=True)
            watching.start()
            wait_until(lambda: kube.watches, 60)
            idle_mib, used = use.peak_mib, use.cpu_s()
            began = time.time()
            made = change(kube, names, rate)
            took = time.time() - began
            wait_until(lambda: len(arrivals.at) >= len(made), 60)
            cores = (use.cpu_s() - used) / (time.time() - began)
            use.stop.set()
            watching.join()
    lags = sorted(arrivals.at[key] - at for key, at in made.items())
    return {
        "pods": pods,
        "changes_s": len(made) / took,
        "rss_listed_mib": idle_mib,
        "rss_peak_mib": use.peak_mib,
        "cores": cores,
        "lag_p50_s": lags[len(lags) // 2],
        "lag_p95_s": lags[int(len(lags) * 0.95)],
        "lag_max_s": lags[-1],
    }


def main(args: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pods", type=int, default=10_000)
    parser.add_argument("--rate", type=float, default=1_000.0, help="changes a second")
    options = parser.parse_args(args)
    with tempfile.TemporaryDirectory() as name:
        found = measure(options.pods, options.rate, Path(name))
    for key, value in found.items():
        print(f"{key:16}{value:12.3f}")
    good = found["rss_peak_mib"] < MEMORY_MAX_MIB and found["cores"] < CORES_MAX
    return 0 if good and found["lag_p95_s"] < LAG_P95_MAX_S else 1


if __name__ == "__main__":
    sys.exit(main())

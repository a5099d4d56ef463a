"""What the link plane counts, under the names its operators know."""

from bisect import bisect_left
from collections import Counter, defaultdict

_BOUNDS_MS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 60_000)


class Histogram:
    """How often something took how long."""

    def __init__(self) -> None:
        self.counts = [0] * (len(_BOUNDS_MS) + 1)
        self.sum = 0.0

    def add(self, ms: float) -> None:
        self.counts[bisect_left(_BOUNDS_MS, ms)] += 1
        self.sum += ms

    def lines(self, name: str, labels: str) -> list[str]:
        found: list[str] = []
        total = 0
        comma = "," if labels else ""
        for bound, count in zip((*_BOUNDS_MS, "+Inf"), self.counts, strict=True):
            total += count
            found.append(f'{name}_bucket{{{labels}{comma}le="{bound}"}} {total}')
        found.append(f"{name}_sum{{{labels}}} {self.sum:.3f}")
        found.append(f"{name}_count{{{labels}}} {total}")
        return found


class Counts:
    """Counters since the process started; gauges are read from the sessions."""

    def __init__(self, tenant: str) -> None:
        self.tenant = tenant
        self.frame_bytes: Counter[str] = Counter()
        self.heartbeats_missed: Counter[str] = Counter()
        self.dispatched: Counter[str] = Counter()
        self.retried: Counter[str] = Counter()
        self.packages: Counter[tuple[str, str]] = Counter()
        self.result_ms: defaultdict[str, Histogram] = defaultdict(Histogram)
        self.ack_ms = Histogram()
        self.install_ms = Histogram()

    def lines(self, connected: int, inflight: int) -> list[str]:
        tenant = f'tenant="{self.tenant}"'
        found = [
            "# TYPE ws_conn_active gauge",
            f"ws_conn_active{{{tenant}}} {connected}",
            "# TYPE link_tasks_inflight gauge",
            f"link_tasks_inflight{{{tenant}}} {inflight}",
            "# TYPE ws_frame_bytes_total counter",
        ]
        for direction, count in sorted(self.frame_bytes.items()):
            found.append(f'ws_frame_bytes_total{{{tenant},dir="{direction}"}} {count}')
        found.append("# TYPE ws_heartbeat_miss_total counter")
        for worker, count in sorted(self.heartbeats_missed.items()):
            found.append(f'ws_heartbeat_miss_total{{{tenant},worker="{label(worker)}"}} {count}')
        found.append("# TYPE cmd_dispatch_total counter")
        for kind, count in sorted(self.dispatched.items()):
            found.append(f'cmd_dispatch_total{{{tenant},node_type="{label(kind)}"}} {count}')
        found.append("# TYPE cmd_retry_total counter")
        for reason, count in sorted(self.retried.items()):
            found.append(f'cmd_retry_total{{reason="{label(reason)}"}} {count}')
        found.append("# TYPE pkg_ops_total counter")
        for (op, status), count in sorted(self.packages.items()):
            found.append(f'pkg_ops_total{{{tenant},op="{op}",status="{label(status)}"}} {count}')
        found.append("# TYPE result_latency_ms histogram")
        for kind, histogram in sorted(self.result_ms.items()):
            found += histogram.lines("result_latency_ms", f'{tenant},node_type="{label(kind)}"')
        found.append("# TYPE cmd_ack_latency_ms histogram")
        found += self.ack_ms.lines("cmd_ack_latency_ms", tenant)
        found.append("# TYPE pkg_install_latency_ms histogram")
        found += self.install_ms.lines("pkg_install_latency_ms", tenant)
        return found


def label(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")

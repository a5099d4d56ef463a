"""What the link plane counts, under the names its operators know."""

from collections import Counter, defaultdict

from windlass.protocol.exposition import Histogram, label


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

"""What a link worker counts, under the names its operators know."""

from collections import defaultdict

from windlass.protocol.exposition import LONG_BOUNDS_MS, Histogram, label

_NEWEST = 0.2
"""The share of the newest round trip in their average."""


class Counts:
    """Counters since the process started."""

    def __init__(self) -> None:
        self.heartbeats_sent = 0
        self.heartbeats_degraded = 0
        """Those that said the worker should get no work."""
        self.task_ms: defaultdict[str, Histogram] = defaultdict(lambda: Histogram(LONG_BOUNDS_MS))
        self.round_trip_ms: float | None = None
        """From a report to its acknowledgement, which comes when it is committed; an average."""

    def heartbeat(self, *, healthy: bool) -> None:
        self.heartbeats_sent += 1
        self.heartbeats_degraded += not healthy

    def round_trip(self, ms: float) -> None:
        before = ms if self.round_trip_ms is None else self.round_trip_ms
        self.round_trip_ms = before + (ms - before) * _NEWEST

    def text(self, inflight: int) -> str:
        """All of it as Prometheus reads it."""
        found = [
            "# TYPE inflight_tasks gauge",
            f"inflight_tasks {inflight}",
            "# TYPE heartbeat_sent_total counter",
            f"heartbeat_sent_total {self.heartbeats_sent}",
            "# TYPE heartbeat_degraded_total counter",
            f"heartbeat_degraded_total {self.heartbeats_degraded}",
            "# TYPE task_duration_ms histogram",
        ]
        for kind, histogram in sorted(self.task_ms.items()):
            found += histogram.lines("task_duration_ms", f'node_type="{label(kind)}"')
        return "\n".join(found) + "\n"

"""What a link worker counts, under the names its operators know."""

from bisect import bisect_left
from collections import defaultdict

_BOUNDS_MS = (1, 5, 10, 50, 100, 500, 1_000, 5_000, 10_000, 60_000, 600_000, 3_600_000)
_NEWEST = 0.2
"""The share of the newest round trip in their average."""


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
        for bound, count in zip((*_BOUNDS_MS, "+Inf"), self.counts, strict=True):
            total += count
            found.append(f'{name}_bucket{{{labels},le="{bound}"}} {total}')
        found.append(f"{name}_sum{{{labels}}} {self.sum:g}")
        found.append(f"{name}_count{{{labels}}} {total}")
        return found


class Counts:
    """Counters since the process started."""

    def __init__(self) -> None:
        self.heartbeats_sent = 0
        self.heartbeats_degraded = 0
        """Those that said the worker should get no work."""
        self.task_ms: defaultdict[str, Histogram] = defaultdict(Histogram)
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
            found += histogram.lines("task_duration_ms", f'node_type="{_label(kind)}"')
        return "\n".join(found) + "\n"


def _label(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")

"""Metrics as Prometheus reads them."""

from bisect import bisect_left

BOUNDS_MS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 60_000)
LONG_BOUNDS_MS = (1, 5, 10, 50, 100, 500, 1_000, 5_000, 10_000, 60_000, 600_000, 3_600_000)
"""For what may take an hour."""


class Histogram:
    """How often something took how long."""

    def __init__(self, bounds: tuple[int, ...] = BOUNDS_MS) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._sum = 0.0

    def add(self, ms: float) -> None:
        self._counts[bisect_left(self._bounds, ms)] += 1
        self._sum += ms

    def lines(self, name: str, labels: str) -> list[str]:
        found: list[str] = []
        total = 0
        comma = "," if labels else ""
        for bound, count in zip((*self._bounds, "+Inf"), self._counts, strict=True):
            total += count
            found.append(f'{name}_bucket{{{labels}{comma}le="{bound}"}} {total}')
        found.append(f"{name}_sum{{{labels}}} {self._sum:.3f}")
        found.append(f"{name}_count{{{labels}}} {total}")
        return found


def label(text: str) -> str:
    """Text as it stands between a label's quotes."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")

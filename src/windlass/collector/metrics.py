"""What the collector has done, by tenant, as Prometheus reads it."""

from collections import Counter
from collections.abc import Mapping

from windlass.protocol.exposition import Histogram, label

TENANTS_MAX = 200
OTHERS = "…"
"""Where tenants are counted that came after the first few hundred."""
_BOUNDS_MS = (100, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 600_000)
_COUNTERS = {
    "observed": "States of pods that were looked at and said something.",
    "published": "Observations that were taken by Redis or the server.",
    "deduplicated": "Observations that had been made before.",
    "failed": "Observations nobody could take, and pods nobody could read.",
}


class CollectorMetrics:
    """Counters and one histogram, each by tenant; a tenant is '' where a pod names none."""

    def __init__(self) -> None:
        self._counts: dict[str, Counter[str]] = {name: Counter() for name in _COUNTERS}
        self._lags: dict[str, Histogram] = {}
        self._tenants: set[str] = set()

    def observed(self, tenant: str) -> None:
        self._counts["observed"][self._named(tenant)] += 1

    def deduplicated(self, tenant: str) -> None:
        self._counts["deduplicated"][self._named(tenant)] += 1

    def failed(self, tenant: str) -> None:
        self._counts["failed"][self._named(tenant)] += 1

    def published(self, tenant: str, lag_ms: float) -> None:
        name = self._named(tenant)
        self._counts["published"][name] += 1
        if name not in self._lags:
            self._lags[name] = Histogram(_BOUNDS_MS)
        self._lags[name].add(max(0.0, lag_ms))

    def text(self, spooled: Mapping[str, int], gauges: Mapping[str, int]) -> str:
        lines: list[str] = []

        def family(name: str, kind: str, help_: str) -> str:
            full = f"windlass_collector_{name}"
            lines.extend((f"# HELP {full} {help_}", f"# TYPE {full} {kind}"))
            return full

        for name, help_ in _COUNTERS.items():
            full = family(f"{name}_total", "counter", help_)
            for tenant, count in sorted(self._counts[name].items()):
                lines.append(f'{full}{{tenant="{label(tenant)}"}} {count}')
        full = family("spooled", "gauge", "Observations written down and not published yet.")
        waiting: Counter[str] = Counter()
        for tenant, count in spooled.items():
            waiting[self._named(tenant)] += count
        lines += [f'{full}{{tenant="{label(t)}"}} {n}' for t, n in sorted(waiting.items())]
        full = family("lag_ms", "histogram", "From a transition, told in seconds, to publishing.")
        for tenant, lags in sorted(self._lags.items()):
            lines += lags.lines(full, f'tenant="{label(tenant)}"')
        for name, value in gauges.items():
            full = family(name, "gauge", _GAUGES[name])
            lines.append(f"{full} {value}")
        return "\n".join(lines) + "\n"

    def _named(self, tenant: str) -> str:
        """A tenant's name, as long as there is room: labels come from whoever makes pods."""
        if tenant in self._tenants:
            return tenant
        if len(self._tenants) >= TENANTS_MAX:
            return OTHERS
        self._tenants.add(tenant)
        return tenant


_GAUGES = {
    "leads": "1 while this instance watches; 0 while another of its kind does.",
    "synced": "1 once every pod was listed.",
    "lists": "Lists made since the start; more than resyncs: the watch lost its thread.",
    "watch_failures": "Lists and watches that failed since the start.",
}

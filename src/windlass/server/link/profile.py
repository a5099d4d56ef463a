"""What a worker said of itself: what it has, how much it takes, how it feels."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from windlass.engine.handlers import Handlers, handlers_in, is_name
from windlass.model.queues import own_queue
from windlass.protocol.link import messages as m

_MEM_PCT_MAX = 90
_DISK_PCT_MAX = 95
PARALLEL_MAX = 10_000
"""No worker is given more at once, whatever it says it can take."""


class Profile:
    """A worker's newest registration and heartbeat."""

    def __init__(self, worker_id: str, register: m.Register) -> None:
        self.worker_id = worker_id
        self.register = register
        self.heartbeat: m.Heartbeat | None = None
        self._known: tuple[int, m.Register, tuple[str, ...]] | None = None
        self._plain: tuple[m.Register, list[str]] | None = None

    @property
    def max_parallel(self) -> int:
        return min(self.register.capabilities.concurrency.max_parallel, PARALLEL_MAX)

    @property
    def limits(self) -> dict[str, int]:
        """The most tasks at once of single types of nodes."""
        return self.register.capabilities.concurrency.per_node_limits or {}

    @property
    def healthy(self) -> bool:
        """Whether it should get work: it feels well and has room left."""
        beat = self.heartbeat
        if beat is None:
            return True
        too_full = _over(beat, "mem_pct", _MEM_PCT_MAX) or _over(beat, "disk_pct", _DISK_PCT_MAX)
        return beat.healthy and not too_full

    @property
    def packages(self) -> list[str]:
        """`name@version` of everything installed, as far as a queue can be named after it."""
        installed = (p for p in self.register.packages if p.status == "installed")
        names = (f"{p.name}@{p.version}" for p in installed)
        return [name for name in names if is_name(name)]

    @property
    def manifests(self) -> dict[str, dict[str, Any]]:
        """What it says is in its packages, by `name@version`."""
        fields = self.register.manifests or ()
        given = {f"{field.name}@{field.version}": field.manifest for field in fields}
        return {name: manifest for name, manifest in given.items() if is_name(name)}

    def load(self, held: int) -> int:
        """How unattractive the worker is beside its free slots: what it does for others, and how
        slow it says it is."""
        metrics = self.heartbeat.metrics if self.heartbeat is not None else {}
        latency, inflight = metrics.get("latency_ms"), metrics.get("inflight")
        others = max(0, inflight - held) if isinstance(inflight, int) else 0
        return others + (int(latency) // 100 if isinstance(latency, int | float) else 0)

    def services(self, handlers: Handlers) -> list[str]:
        """The handlers of its packages."""
        own = f"{m.SERVICES_PACKAGE}@"
        packages = [package for package in self.packages if not package.startswith(own)]
        return [service for package in packages for service in handlers.of(package)]

    @property
    def plain_services(self) -> list[str]:
        """Services that come with no package: what it names itself, as another's are its own."""
        if self._plain is None or self._plain[0] is not self.register:
            own = f"{m.SERVICES_PACKAGE}@"
            installed, manifests = self.packages, self.manifests
            found = [manifests.get(name, {}) for name in installed if name.startswith(own)]
            names = {name for manifest in found for name in handlers_in(manifest)}
            self._plain = (self.register, sorted(names))
        return self._plain[1]

    def queues(self, handlers: Handlers) -> tuple[str, ...]:
        """Where its work waits: in its own queues first. Plain services queue like pulled work."""
        known = self._known
        if known is None or known[0] != handlers.count or known[1] is not self.register:
            known = self._known = (handlers.count, self.register, self._queues(handlers))
        return known[2]

    def _queues(self, handlers: Handlers) -> tuple[str, ...]:
        services = self.services(handlers)
        return (
            *(own_queue(self.worker_id, service) for service in services),
            *(f"link:{service}" for service in services),
            *(f"pull:{service}" for service in self.plain_services),
        )

    def caps(self, handlers: Handlers, running: Iterable[str]) -> dict[str, int]:
        """How many more of each limited service it may be given, with these types running."""
        limits = self.limits
        if not limits:
            return {}
        busy = Counter(running)
        kinds = {service: service.partition(":")[2] for service in self.services(handlers)}
        kinds |= {service: service for service in self.plain_services}
        return {
            service: limits[kind] - busy[kind] for service, kind in kinds.items() if kind in limits
        }


def _over(beat: m.Heartbeat, name: str, most: float) -> bool:
    value = beat.metrics.get(name)
    return isinstance(value, int | float) and value >= most

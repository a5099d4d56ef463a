"""How the runs of a window went, counted by the database and shared by everybody who asks."""

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import Mapping

import msgspec

from windlass.model.ids import uuid7
from windlass.ports.store import Store

SLICES = 30
_SOON_S = 0.1
_KNOWN_MAX = 1_000
_KEPT_FOR = 20.0
"""What takes longer to count than that is kept for so many times as long: small databases are
counted each time, large ones spend a twentieth of their time on it at most."""


class WindowCount(msgspec.Struct, frozen=True):
    """Runs that began in a window, by how they stand."""

    began_at: int
    slices: Mapping[int, Counter[str]]
    """By slice of the window, by state."""
    flows: Mapping[str, Counter[str]]
    """By flow, by state."""

    @property
    def total(self) -> int:
        return sum(counts.total() for counts in self.flows.values())


class WindowCounts:
    """What was counted of late, by tenant and window."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int], tuple[float, WindowCount]] = {}
        self._counting = asyncio.Lock()

    async def get(self, store: Store, tenant: str, span_ms: int) -> WindowCount:
        """Counts of the time from so long ago until now, or until a moment before."""
        async with self._counting:
            key = (tenant, span_ms)
            known = self._known.get(key)
            began = time.monotonic()
            if known is not None and known[0] > began:
                return known[1]
            found = await self._count(store, tenant, span_ms)
            took = time.monotonic() - began
            if took > _SOON_S:
                if len(self._known) >= _KNOWN_MAX:
                    self._known.clear()
                self._known[key] = (began + took * _KEPT_FOR, found)
            return found

    async def _count(self, store: Store, tenant: str, span_ms: int) -> WindowCount:
        since = store.now() - span_ms
        low = uuid7(since, 0)
        width = span_ms // SLICES
        slices: defaultdict[int, Counter[str]] = defaultdict(Counter)
        flows: defaultdict[str, Counter[str]] = defaultdict(Counter)
        asked = {"low": low, "tenant": tenant}
        for row in await store.query("window_slices", since=since, width=width, **asked):
            # Whoever began a run may have had another clock than the database has now.
            place = min(SLICES - 1, max(0, row["slice"]))
            slices[place][row["state"]] += row["n"]
        for row in await store.query("window_flows", **asked):
            flows[row["flow_name"]][row["state"]] += row["n"]
        return WindowCount(since, slices, flows)

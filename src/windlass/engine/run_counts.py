"""How many runs there are in each state, without counting all of history for everybody who asks.

Open runs are few and counted each time. Ended ones are counted once in a while; in between, those
that end here are added.
"""

from collections import Counter
from typing import cast

import msgspec

from windlass.model.rows import Run
from windlass.model.states import RUN_ENDED, RunState
from windlass.model.tenants import ALL
from windlass.ports.store import Cond, Store, Writes

_KEPT_MS = 60_000
_TENANTS_MAX = 1_000
_OPEN = [state for state in RunState if state not in RUN_ENDED]


class Ended(msgspec.Struct):
    """Ended runs by state, and when they were counted."""

    counts: Counter[str]
    at: int


class RunCounts:
    """Counts by tenant and state; those of ended runs may lag a minute behind other processes."""

    def __init__(self) -> None:
        self._ended: dict[str, Ended] = {}

    def committed(self, writes: Writes) -> None:
        if not self._ended:
            return  # nobody has asked yet
        before = cast("dict[str, Run]", writes.was.get(Run, {}))
        for run in cast("dict[str, Run]", writes.changed.get(Run, {})).values():
            was = before[run.id].state if run.id in before else None
            if was is run.state:
                continue
            for tenant in (run.tenant, ALL):
                if tenant in self._ended:
                    counts = self._ended[tenant].counts
                    counts.update({str(run.state): 1} if run.state in RUN_ENDED else {})
                    counts.subtract({str(was): 1} if was in RUN_ENDED else {})

    async def get(self, store: Store, tenant: str) -> dict[str, int]:
        """Counts of the runs that somebody's store shows."""
        now = store.now()
        known = self._ended.get(tenant)
        if known is None or now - known.at >= _KEPT_MS:
            if len(self._ended) >= _TENANTS_MAX:
                self._ended.clear()
            found = await store.query("count_runs", tenant=tenant)
            counts = Counter({row["state"]: row["n"] for row in found if row["state"] in RUN_ENDED})
            known = self._ended[tenant] = Ended(counts, now)
        open_ = {
            str(state): await store.count(Run, [Cond("state", "=", str(state))]) for state in _OPEN
        }
        return {state: n for state, n in {**open_, **known.counts}.items() if n}

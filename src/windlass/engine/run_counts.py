"""How many runs there are in each state, without counting all of history for everybody who asks.

Open runs are few and counted each time. Ended ones are counted once in a while; in between, those
that end here are added.
"""

from collections import Counter
from typing import cast

from windlass.model.rows import Run
from windlass.model.states import RUN_ENDED, RunState
from windlass.ports.store import Cond, Store, Writes

_KEPT_MS = 60_000
_OPEN = [state for state in RunState if state not in RUN_ENDED]


class RunCounts:
    """Counts by state; those of ended runs may lag behind other processes by a minute."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._ended: Counter[str] = Counter()
        self._counted_at = -_KEPT_MS

    def committed(self, writes: Writes) -> None:
        if self._counted_at < 0:
            return  # nobody has asked yet
        before = cast("dict[str, Run]", writes.was.get(Run, {}))
        for run in cast("dict[str, Run]", writes.changed.get(Run, {})).values():
            was = before[run.id].state if run.id in before else None
            if was is not run.state:
                self._ended.update({str(run.state): 1} if run.state in RUN_ENDED else {})
                self._ended.subtract({str(was): 1} if was in RUN_ENDED else {})

    async def get(self) -> dict[str, int]:
        now = self._store.now()
        if now - self._counted_at >= _KEPT_MS:
            found = await self._store.query("count_runs")
            self._ended = Counter(
                {row["state"]: row["n"] for row in found if row["state"] in RUN_ENDED}
            )
            self._counted_at = now
        counts = {
            str(state): await self._store.count(Run, [Cond("state", "=", str(state))])
            for state in _OPEN
        }
        return {state: n for state, n in {**counts, **self._ended}.items() if n}

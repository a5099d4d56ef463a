"""When to ask Kubernetes for its events of a pod: while it waits, and once more before it goes.

Of pods that wait, whoever waits for something new is asked about first, and each again after a
while; a look asks about some of them at most, so that a thousand that find no room are no storm of
questions. Where the account may not read events, that is kept as what there is to tell.
"""

import logging
from collections.abc import Mapping
from typing import NamedTuple

from windlass.drivers.dispatch.pod_api import PodApi
from windlass.kube.api import KubeRefused
from windlass.model.pod_records import EventsState, KubeEvents
from windlass.model.reasons import Reason
from windlass.ports.pods import PodWork

log = logging.getLogger(__name__)

_EACH_LOOK = 20
_AGAIN_S = 15.0
_DENIED_S = 300.0
"""How long nobody is asked once Kubernetes has said that we may not."""


class Waiting(NamedTuple):
    """A pod that has not begun."""

    pod: str
    uid: str
    reason: Reason


class _Asked(NamedTuple):
    at: float
    reason: Reason
    told: KubeEvents | None


class PodEvents:
    """What was asked, and what was told."""

    def __init__(self, work: PodWork, api: PodApi) -> None:
        self._work = work
        self._api = api
        self._asked: dict[str, _Asked] = {}
        self._denied_until = 0.0

    def due(self, waiting: Mapping[str, Waiting], now: float) -> list[str]:
        """Which attempts to ask about; these are all that wait and have a pod. Those come first of
        whom least is known."""
        self._asked = {id_: asked for id_, asked in self._asked.items() if id_ in waiting}
        turns: list[tuple[bool, float, str]] = []
        for attempt, found in waiting.items():
            asked = self._asked.get(attempt)
            same = asked is not None and asked.reason == found.reason
            at = 0.0 if asked is None else asked.at
            if not same or now - at >= _AGAIN_S:
                turns.append((same, at, attempt))
        return [attempt for _, _, attempt in sorted(turns)[:_EACH_LOOK]]

    async def ask(self, attempt: str, found: Waiting, now: float) -> None:
        """Ask about a pod that waits, and keep what is new."""
        before = self._asked.get(attempt)
        known = None if before is None else before.told
        self._asked[attempt] = _Asked(now, found.reason, known)  # nobody else asks meanwhile
        told = await self._read(found.pod, found.uid, now)
        if told is not None and told != known:
            await self._work.keep_events(attempt, told)
            self._asked[attempt] = _Asked(now, found.reason, told)

    async def last(self, attempt: str, pod: str, uid: str, now: float) -> None:
        """Keep what there is before a pod goes, and its events some time after it."""
        told = await self._read(pod, uid, now)
        if told is not None and told.state is EventsState.READ and told.items:
            await self._work.keep_events(attempt, told)

    async def _read(self, pod: str, uid: str, now: float) -> KubeEvents | None:
        if now < self._denied_until:
            return KubeEvents(state=EventsState.FORBIDDEN)
        try:
            return await self._api.events(pod, uid)
        except KubeRefused as error:
            if error.code not in (401, 403):
                return None
            log.warning("events of pods are not told: %s", error)
            self._denied_until = now + _DENIED_S
            return KubeEvents(state=EventsState.FORBIDDEN)

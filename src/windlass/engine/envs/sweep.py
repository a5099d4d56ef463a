"""Finds places that belong to nobody: made by whoever was cut off before it could say so."""

import asyncio
import logging

from windlass.engine.engine import Engine
from windlass.engine.envs.follow import OWNER, SESSION, Follower
from windlass.engine.envs.hosts import Hosts
from windlass.model.envs import EnvSession, EnvState
from windlass.ports.env import EnvBackend, Place, PlaceError, RuntimeAway

log = logging.getLogger(__name__)


class Sweep:
    """Compares what is in the runtimes with the sessions there are, now and then."""

    def __init__(
        self, engine: Engine, hosts: Hosts, follower: Follower, *, pause_s: float = 30.0
    ) -> None:
        self._engine = engine
        self._hosts = hosts
        self._follower = follower
        self._pause_s = pause_s
        self._wake = asyncio.Event()
        hosts.on_new.append(self._wake.set)

    async def run_once(self) -> int:
        self._wake.clear()
        removed = 0
        for host, backend in self._hosts.all():
            try:
                removed += await self._sweep(host, backend)
            except (RuntimeAway, PlaceError) as error:
                log.warning("cannot look after %s on %s: %s", backend.kind, host, error)
        return removed

    async def _sweep(self, host: str, backend: EnvBackend) -> int:
        owner = await self._follower.owner()
        ours = [place for place in await backend.list() if place.labels.get(OWNER) == owner]
        if not ours:
            return 0
        async with self._engine.store.session() as reading:
            keys = [place.labels.get(SESSION, "") for place in ours]
            sessions = {row.id: row for row in await reading.rows(EnvSession, keys)}
        unwanted = [
            place
            for place in ours
            if is_unwanted(sessions.get(place.labels.get(SESSION, "")), host)
        ]
        for place in unwanted:
            await self._remove(backend, place)
        return len(unwanted)

    async def _remove(self, backend: EnvBackend, place: Place) -> None:
        log.info("%s %s belongs to nobody and is removed", backend.kind, place.name)
        await backend.release(place.name)

    async def pause(self) -> None:
        try:
            async with asyncio.timeout(self._pause_s):
                await self._wake.wait()
        except TimeoutError:
            return


def is_unwanted(session: EnvSession | None, host: str) -> bool:
    """Whether a place is nobody's: its session is gone, or has its place elsewhere."""
    if session is None or session.state is EnvState.RELEASED:
        return True
    return session.state is not EnvState.RESERVED and session.host not in ("", host)

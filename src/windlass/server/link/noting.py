"""Noting: what the database says of workers on the link, and whose it is to say.

A worker's row names its newest session, whichever server that is on. A session takes the row over
when it begins or is resumed, and from then on it writes only while the row still names it. One that
finds another's name there is over: its worker went to another server, and this one had not noticed
that the line is dead. The notice of a take-over has the others look at once.
"""

import asyncio
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from windlass.engine import catalog, workers
from windlass.engine.installing import INSTALLS
from windlass.model.errors import WindlassError
from windlass.model.rows import Worker
from windlass.protocol.link import messages as m

if TYPE_CHECKING:
    from windlass.server.link.plane import LinkPlane
    from windlass.server.link.session import LinkSession


class Noting:
    """The rows of all workers that are, or were, connected to this process."""

    def __init__(self, plane: "LinkPlane") -> None:
        self._plane = plane
        self._engine = plane.engine
        self._looking: set[asyncio.Task[None]] = set()
        plane.engine.feed.on_workers.append(self.look_soon)

    async def introduce(self, session: "LinkSession") -> None:
        """Write down a worker that has registered, with what is in its packages."""
        plain = f"{m.SERVICES_PACKAGE}@"  # differs from worker to worker, and no workflow names it
        told = session.profile.manifests.items()
        manifests = {name: manifest for name, manifest in told if not name.startswith(plain)}
        await catalog.keep_manifests(self._engine, manifests)
        await (self.note(session) if session.named else self.take_over(session))
        self._engine.recent.clear()

    async def take_over(self, session: "LinkSession") -> None:
        """Write down that this is a worker's session from now on."""
        await self._engine.write(_row(session, self._engine.store.now()))
        session.named = True

    async def note(self, session: "LinkSession") -> None:
        """Write down what is known of a worker, and that it is there."""
        known = False

        def noted(worker: Worker) -> Worker | None:
            nonlocal known
            known = True
            if not session.connected or not is_of(worker, session):
                return None
            row = _row(session, self._engine.store.now())
            return replace(row, registered_at=worker.registered_at)

        if await self._engine.update(Worker, session.worker_id, noted) is not None:
            return
        if known:
            await self._look([session.worker_id])
        elif session.connected:
            await self.take_over(session)

    async def cut(self, session: "LinkSession") -> None:
        """Show at once that a worker's line is cut. What it holds is its own for a while."""

        def cut(worker: Worker) -> Worker | None:
            meta = workers.meta_of(worker)
            if session.connected or meta.get("sessionId") != session.id:
                return None
            text = msgspec.json.encode({**meta, workers.CONNECTED: False}).decode()
            return replace(worker, meta=text)

        await self._leave(session, cut)

    async def gone(self, session: "LinkSession") -> None:
        """Tell others that a worker is away, unless it is back, or on another server by now."""

        def gone(worker: Worker) -> Worker | None:
            if session.connected or not is_of(worker, session):
                return None
            return replace(worker, state="offline", load=0)

        await self._leave(session, gone)
        session.given_up = not session.connected

    async def _leave(
        self, session: "LinkSession", change: Callable[[Worker], Worker | None]
    ) -> None:
        done = await self._engine.update(Worker, session.worker_id, change)
        self._engine.recent.clear()  # which versions of packages there are was answered with it
        if done is not None and session.connected:
            # It came back while that was written.
            await self.note(session)

    # Workers that went elsewhere

    def look_soon(self, worker_ids: Collection[str] | None) -> None:
        """Sessions of these workers, or of any, may have begun elsewhere."""
        if worker_ids is None and self._looking:
            return
        mine = self._plane.sessions.keys()
        ids = [*mine] if worker_ids is None else [id_ for id_ in worker_ids if id_ in mine]
        if ids:
            task = asyncio.ensure_future(self._look_quietly(ids))
            self._looking.add(task)
            task.add_done_callback(self._looking.discard)

    async def _look_quietly(self, worker_ids: list[str]) -> None:
        try:
            await self._look(worker_ids)
        except WindlassError:
            return  # the next sign of life finds out

    async def _look(self, worker_ids: list[str]) -> None:
        for worker in await workers.get_workers(self._engine, worker_ids):
            session = self._plane.sessions.get(worker.id)
            if session is not None and session.named and not is_of(worker, session):
                self._plane.went_elsewhere(session)

    async def is_here(self, session: "LinkSession") -> bool:
        """Whether a worker has no newer session elsewhere, of which nobody here has heard yet."""
        await self._look([session.worker_id])
        return session.connected


def is_of(worker: Worker, session: "LinkSession") -> bool:
    """Whether a session is the newest of its worker."""
    return workers.meta_of(worker).get("sessionId") in (None, session.id)


def _row(session: "LinkSession", now: int) -> Worker:
    return Worker(
        id=session.worker_id,
        transport="link",
        services=msgspec.json.encode(list(session.profile.packages)).decode(),
        load=len(session.held),
        capacity=session.profile.max_parallel,
        state="draining" if session.draining else "online",
        meta=msgspec.json.encode(_meta(session)).decode(),
        registered_at=now,
        seen_at=now,
        tenant=session.tenant,
    )


def _meta(session: "LinkSession") -> dict[str, Any]:
    """What is shown of a worker, as its frames said it."""
    register = session.profile.register
    beat = session.profile.heartbeat
    return {
        "instanceId": session.instance,
        "generation": int(session.link.generation),
        "tenant": session.plane.settings.tenant,
        "sessionId": session.id,
        "capabilities": msgspec.to_builtins(register.capabilities),
        "packages": msgspec.to_builtins(register.packages),
        INSTALLS: msgspec.to_builtins(session.installs),
        workers.PLAIN: session.profile.plain_services,
        "channels": register.channels or [],
        "payloadTypes": register.payload_types or [],
        "heartbeat": None if beat is None else msgspec.to_builtins(beat),
        "version": session.link.handshake.worker.version if session.link.handshake else "",
        "hostname": session.link.handshake.worker.hostname if session.link.handshake else "",
    }

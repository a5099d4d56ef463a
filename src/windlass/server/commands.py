"""Commands to workers on the link: sent through their session, and remembered until answered.

A worker answers an installation or removal with a package event; everything else is done once it
is sent. What became of a command is told to listeners, who turn it into events for clients.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec

from windlass.engine.engine import Engine
from windlass.engine.workers import LIVE, get_worker, state_of
from windlass.model.errors import Conflict, NotFound, Unavailable
from windlass.model.rows import Worker
from windlass.protocol.link import messages as m
from windlass.server.link.plane import LinkPlane
from windlass.server.link.session import Session

_PENDING_MAX = 10_000
_RETRY_AFTER_S = 2.0


class CommandNews(msgspec.Struct, frozen=True):
    """A command was carried out, or (`error`) could not be."""

    command_id: str
    worker_id: str
    error: str = ""
    code: str = ""


class Commands:
    """Sends commands, and finds which of them a worker's answer is about."""

    def __init__(self, engine: Engine, link: LinkPlane) -> None:
        self._engine = engine
        self._link = link
        self._pending: dict[tuple[str, str, str, str], str] = {}
        self._going: set[asyncio.Task[None]] = set()
        self.listeners: list[Callable[[CommandNews], None]] = []
        link.on_package.append(self._reported)

    async def session(self, worker_id: str) -> Session:
        """The live session of a worker, or an error that says where it is instead."""
        session = self._link.sessions.get(worker_id)
        if session is not None and session.connected:
            return session
        worker = await get_worker(self._engine, worker_id)
        if worker is None:
            raise NotFound(f'no worker "{worker_id}"; see GET /api/v1/workers')
        raise self._away(worker, was_here=session is not None)

    def _away(self, worker: Worker, *, was_here: bool) -> Exception:
        if worker.transport != "link":
            text = f'worker "{worker.id}" works by {worker.transport}'
            return Conflict(f"{text}; commands reach only workers on the link")
        state = state_of(self._engine, worker)
        if state in LIVE and not was_here:
            text = f'worker "{worker.id}" is connected to another server process'
            return Conflict(f"{text}; send the command there")
        settings = self._engine.settings
        grace_ms = (settings.worker_ttl_s + settings.lease_s) * 1000
        if worker.state in LIVE and self._engine.store.now() - worker.seen_at <= grace_ms:
            return Unavailable(f'worker "{worker.id}" is late; it may be back soon', _RETRY_AFTER_S)
        return Conflict(f'worker "{worker.id}" is not connected ({state}); start it first')

    def expect(self, command_id: str, worker_id: str, op: str, name: str, version: str) -> None:
        """Remember a command that the worker will answer with a package event."""
        while len(self._pending) >= _PENDING_MAX:
            self._pending.pop(next(iter(self._pending)))
        self._pending[worker_id, op, name, version] = command_id

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Go on with a command after its request was answered."""
        task = asyncio.ensure_future(work)
        self._going.add(task)  # the loop itself keeps only a weak reference
        task.add_done_callback(self._going.discard)

    def done(self, command_id: str, worker_id: str, error: str = "", code: str = "") -> None:
        news = CommandNews(command_id, worker_id, error, code)
        for tell in self.listeners:
            tell(news)

    def _reported(self, session: Session, event: m.PkgEvent) -> None:
        # What the worker has now is shown at once, not with its next sign of life.
        session.spawn(session.reports.quietly(self._link.note(session)))
        details = event.details or {}
        op = "uninstall" if details.get("operation") == "uninstall" else "install"
        for version in (event.version, ""):
            command_id = self._pending.pop((session.worker_id, op, event.name, version), None)
            if command_id is not None:
                failed = event.status != "installed"
                text = str(details.get("message") or "it failed") if failed else ""
                code = str(details.get("code") or "E.PKG.INVALID") if failed else ""
                self.done(command_id, session.worker_id, text, code)

"""Commands to workers on the link: sent through their session, and remembered until answered.

A worker answers an installation or removal with a package event; everything else is done once it
is sent. What became of a command is told to listeners, who turn it into events for clients.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any

import msgspec

from windlass.engine import rebind
from windlass.engine.engine import Engine
from windlass.engine.loops.outbox import NotHere
from windlass.engine.workers import LIVE, get_worker, state_of
from windlass.model.effects import Effect, worker_address
from windlass.model.errors import Conflict, NotFound, Unavailable, WindlassError
from windlass.model.rows import Row, Run
from windlass.model.tenants import ALL
from windlass.protocol.link import messages as m
from windlass.protocol.workers_api import CommandBody
from windlass.server.link.plane import LinkPlane
from windlass.server.link.session import LinkSession

COMMAND = "command"
_ANYWHERE = ("", "default")
_PENDING_MAX = 10_000
_RETRY_AFTER_S = 2.0
_CARRIED_S = 2.0
_WAITS_MS = 60_000
"""How long a command waits for a worker that went away at just that moment."""


def target_of(body: CommandBody) -> str | None:
    """Where a worker's runs are to go; None: wherever they can."""
    named = body.worker_id or body.queue or ""
    return None if named in _ANYWHERE else named


class CommandNews(msgspec.Struct, frozen=True):
    """A command was carried out, or (`error`) could not be."""

    command_id: str
    worker_id: str
    error: str = ""
    code: str = ""


class Order(CommandBody, frozen=True, kw_only=True):
    """A command as it is kept until it is carried out."""

    runs: tuple[str, ...] = ()
    """Runs that were moved away from the worker."""


class Commands:
    """Sends commands, and finds which of them a worker's answer is about."""

    def __init__(self, engine: Engine, link: LinkPlane) -> None:
        self._engine = engine
        self._link = link
        self._pending: dict[tuple[str, str, str, str], str] = {}
        self._going: set[asyncio.Task[None]] = set()
        self._carried: dict[str, asyncio.Event] = {}
        """Commands that requests here wait for."""
        self.listeners: list[Callable[[CommandNews], None]] = []
        link.on_package.append(self._reported)

    async def check(self, engine: Engine, worker_id: str) -> str:
        """The id of a worker on the link that can be told something, here or in another process;
        an error says why it cannot. The engine is as the caller sees it."""
        session = self._link.sessions.get(worker_id)
        if session is not None and session.connected and session.tenant in (ALL, engine.home):
            return session.worker_id
        worker = await get_worker(engine, worker_id)
        if worker is None:
            raise NotFound(f'no worker "{worker_id}"; see GET /api/v1/workers')
        if worker.transport != "link":
            text = f'worker "{worker.id}" works by {worker.transport}'
            raise Conflict(f"{text}; commands reach only workers on the link")
        state = state_of(self._engine, worker)
        if state in LIVE and not self._link.is_cut_off(worker):
            return worker.id
        settings = self._engine.settings
        grace_ms = (settings.worker_ttl_s + settings.lease_s) * 1000
        if worker.state in LIVE and self._engine.store.now() - worker.seen_at <= grace_ms:
            raise Unavailable(f'worker "{worker.id}" is late; it may be back soon', _RETRY_AFTER_S)
        raise Conflict(f'worker "{worker.id}" is not connected ({state}); start it first')

    def order(self, command_id: str, worker_id: str, body: CommandBody) -> Effect:
        """A command as an effect: whichever process has the worker's connection carries it out."""
        now = self._engine.store.now()
        return Effect(
            id=command_id,
            kind=COMMAND,
            address=worker_address(worker_id),
            body=msgspec.json.encode(body).decode(),
            due_at=now,
            created_at=now,
        )

    async def carried_out(self, command_id: str, worker_id: str) -> None:
        """Wait a moment for a command that this process carries out itself."""
        session = self._link.sessions.get(worker_id)
        if session is None or not session.connected:
            return
        with contextlib.suppress(TimeoutError):
            event = self._carried.setdefault(command_id, asyncio.Event())
            async with asyncio.timeout(_CARRIED_S):
                await event.wait()
        self._carried.pop(command_id, None)

    async def carry_out(self, effect: Effect) -> None:
        """Do what a command says, if the worker is still connected here."""
        await self._carry_out(effect)
        if effect.id in self._carried:
            self._carried[effect.id].set()

    async def _carry_out(self, effect: Effect) -> None:
        worker_id = effect.address.partition(":")[2]
        session = self._link.sessions.get(worker_id)
        if session is None or not session.connected:
            if self._engine.store.now() - effect.created_at > _WAITS_MS:
                self.done(effect.id, worker_id, "the worker has gone away", "E.WORKER.GONE")
                return
            raise NotHere(f"worker {worker_id} is not connected here")
        if not await self._link.noting.is_here(session):
            raise NotHere(f"worker {worker_id} went to another server")
        body = msgspec.json.decode(effect.body, type=Order)
        match body.type:
            case "drain" | "undrain":
                session.drain(body.type == "drain", body.reason, body.deadline_ms)
                await self._link.noting.note(session)
                self.done(effect.id, worker_id)
            case "rebind":
                for run_id in body.runs:
                    moved = m.Rebind(run_id=run_id, reason=body.reason or "rebind")
                    await self._link.deliver(session, moved)
            case "pkg.install":
                version, sha256 = body.version or "", body.sha256 or ""
                self.expect(effect.id, worker_id, "install", body.name, version)
                installs, url = self._link.installs, body.url or ""
                await self._link.deliver(
                    session, installs.order(session, body.name, version, sha256, url)
                )
            case _:
                self.expect(effect.id, worker_id, "uninstall", body.name, body.version or "")
                await self._link.deliver(
                    session, m.PkgUninstall(name=body.name, version=body.version)
                )

    async def give_up(
        self,
        command_id: str,
        worker_id: str,
        body: CommandBody,
        noted: Callable[[Run], Row] | None = None,
    ) -> None:
        """Move every run that is bound to a worker: to the one named, or wherever it can go. What
        a request would take too long for goes on after it."""
        move = partial(rebind.rebind_some, self._engine, worker_id, target_of(body), noted=noted)
        first = await move()
        if first.refused and not first.done and first.after is None:
            raise Unavailable(f"no run could be moved: {first.refused[0]}", 5.0)
        await self._tell_moved(worker_id, body, first)
        self.spawn(self._give_up_rest(command_id, worker_id, body, first, move))

    async def _give_up_rest(
        self,
        command_id: str,
        worker_id: str,
        body: CommandBody,
        moved: rebind.Moved,
        move: Callable[..., Awaitable[rebind.Moved]],
    ) -> None:
        """Move the rest, then say that the command is carried out."""
        refused, count = moved.refused[:1], len(moved.refused)
        try:
            while moved.after is not None:
                moved = await move(after=moved.after)
                await self._tell_moved(worker_id, body, moved)
                refused, count = refused or moved.refused[:1], count + len(moved.refused)
        except WindlassError as error:
            refused, count = [str(error)], count + 1
        text = f"{count} could not be moved: {refused[0]}" if refused else ""
        self.done(command_id, worker_id, text, "E.REBIND" if text else "")

    async def _tell_moved(self, worker_id: str, body: CommandBody, moved: rebind.Moved) -> None:
        """Let a worker know, wherever it is connected, that runs are another's from now on."""
        await self.tell_moved(worker_id, body.reason, [one.run_id for one in moved.done])

    async def tell_moved(self, worker_id: str, reason: str | None, run_ids: list[str]) -> None:
        if run_ids:
            told = Order(type="rebind", reason=reason, runs=tuple(run_ids))
            await self._engine.write(self.order(self._engine.new_id(), worker_id, told))

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

    def _reported(self, session: LinkSession, event: m.PkgEvent) -> None:
        # What the worker has now is shown at once, not with its next sign of life.
        session.spawn(session.reports.quietly(self._link.noting.note(session)))
        details = event.details or {}
        op = "uninstall" if details.get("operation") == "uninstall" else "install"
        for version in (event.version, ""):
            command_id = self._pending.pop((session.worker_id, op, event.name, version), None)
            if command_id is not None:
                failed = event.status != "installed"
                text = str(details.get("message") or "it failed") if failed else ""
                code = str(details.get("code") or "E.PKG.INVALID") if failed else ""
                self.done(command_id, session.worker_id, text, code)

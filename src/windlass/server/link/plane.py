"""The link plane: every worker connected to this process, and what they share.

A session is found by its worker, and by its id when a worker resumes it. A worker has one session:
the newest connection wins, and the older one's end changes nothing.
"""

import asyncio
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec

from windlass.engine import workers
from windlass.engine.attempts import Attempts, attempt_token
from windlass.engine.engine import Engine
from windlass.engine.loops.forever import raise_outage
from windlass.engine.loops.outbox import NotHere
from windlass.model.effects import Effect, worker_address
from windlass.model.errors import Unavailable
from windlass.model.queues import service_of
from windlass.model.rows import Binding, Failure, Run, Worker
from windlass.model.states import RUN_ENDED
from windlass.model.tenants import ALL
from windlass.ports.store import Cond
from windlass.protocol.link import codes
from windlass.protocol.link import messages as m
from windlass.protocol.link.envelope import Generation, Refused, timestamp
from windlass.protocol.link.server import ServerLink
from windlass.protocol.link.tokens import TTL_S, make_token, read_token
from windlass.server.link.chains import Chains
from windlass.server.link.counts import Counts
from windlass.server.link.feedback import FeedbackSink
from windlass.server.link.held import Held
from windlass.server.link.installs import Installs
from windlass.server.link.noting import Noting, is_of
from windlass.server.link.session import LinkSession
from windlass.server.signed import sign

log = logging.getLogger(__name__)


class LinkSettings(msgspec.Struct, frozen=True):
    """What an operator can set about the link."""

    tenant: str = "default"
    heartbeat_s: float = 35.0
    """The longest a worker is silent between two heartbeats; three of them missed end it."""
    forget_s: float = 10.0
    """A task older than this, of which the worker twice said it has none, is lost."""


class LinkPlane:
    """All sessions of this process."""

    def __init__(
        self,
        engine: Engine,
        attempts: Attempts,
        settings: LinkSettings | None = None,
        *,
        clock: Callable[[], float] | None = None,
        new_id: Callable[[], str] = lambda: secrets.token_hex(16),
    ) -> None:
        self.engine = engine
        self.attempts = attempts
        self.settings = settings or LinkSettings()
        self.counts = Counts(self.settings.tenant)
        self.clock = clock or _clock()
        self.new_id = new_id
        self.feedback = FeedbackSink(engine)
        self.installs = Installs(self)
        self.chains = Chains(self)
        self.noting = Noting(self)
        self.keep_parameters: Callable[[str, bytes], Awaitable[dict[str, Any]]] | None = None
        self.sessions: dict[str, LinkSession] = {}
        """By worker."""
        self.on_package: list[Callable[[LinkSession, m.PkgEvent], None]] = []
        self._by_id: dict[str, LinkSession] = {}
        self._secret = b""
        engine.feed.on_stop.append(self.stop_attempt)
        engine.handlers.on_new.append(self._new_handler)
        engine.advance.on_unserved.append(self.installs.unserved)

    # Sessions

    async def begin(self, link: ServerLink, register: m.Register, tenant: str = ALL) -> LinkSession:
        """A worker registered: make its session, with what it may still hold from before."""
        session = LinkSession(self, link, self.new_id(), register, tenant)
        await workers.check_free(self.engine, session.worker_id, tenant)
        known = await workers.get_worker(self.engine, session.worker_id)
        session.draining = known is not None and known.state == "draining"
        rows = await self.engine.store.query("held_by", worker_id=session.worker_id)
        # Only now: while the database was asked, another connection may have begun a session.
        old = self.sessions.get(session.worker_id)
        inherited = self._inheritance(session, old, known, rows)
        if old is not None:
            self._retire(old)
        self.sessions[session.worker_id] = session
        self._by_id[session.id] = session
        for held in inherited:
            session.inherit(held)
        await self.noting.introduce(session)
        self.engine.feed.mail()
        # Tasks may have waited for somebody who installs what they need.
        self.installs.look_soon()
        return session

    def _inheritance(
        self,
        session: LinkSession,
        old: LinkSession | None,
        known: Worker | None,
        rows: Sequence[dict[str, Any]],
    ) -> list[Held]:
        """Attempts the worker held before. Another process under its name has none of them."""
        before = workers.meta_of(known).get("instanceId") if known is not None else None
        instance = old.instance if old is not None else before
        now = self.clock()
        found: dict[str, Held] = {}
        for row in rows:
            service = service_of(row["queue"])
            kind = service.partition(":")[2] or service
            found[row["id"]] = Held(row["id"], row["run_id"], kind, now)
        if old is not None:
            for attempt_id in old.reports.pending:
                found.pop(attempt_id, None)
            # What it was given since the rows were read.
            for held in old.held.values():
                if not held.stopped and held.attempt_id not in found:
                    found[held.attempt_id] = Held(held.attempt_id, held.run_id, held.node_type, now)
                if held.attempt_id in found:
                    found[held.attempt_id].unread = held.unread
        if session.link.generation is Generation.FIRST or instance == session.instance:
            return list(found.values())
        session.held |= found
        session.lose_all()
        return []

    def _retire(self, old: LinkSession) -> None:
        """Another connection took over: close the old one without touching what is shared."""
        self._by_id.pop(old.id, None)
        wake = old.wake
        old.held.clear()
        old.disconnected()
        old.link.refuse(codes.SESSION_DENIED, "superseded session", self.clock())
        if wake is not None:
            wake()

    def went_elsewhere(self, session: LinkSession) -> None:
        """A worker has a newer session on another server. What it acknowledged it has there; what
        it was sent since its line here is dead is nobody's, and goes to another at once."""
        unread = [h.attempt_id for h in session.held.values() if not (h.acked or h.stopped)]
        self._forget(session)
        self._retire(session)
        text = f"worker {session.worker_id} went to another server"
        for attempt_id in unread:
            session.reports.failed(attempt_id, Failure("unreachable", text))

    async def accept(self, session: LinkSession, *, resumed: bool) -> m.Accept:
        secret = await self.secret()
        now = self.clock()
        return m.Accept(
            session_id=session.id,
            session_token=make_token(
                secret, session.id, session.instance, self.settings.tenant, now
            ),
            worker_instance_id=session.instance,
            expires_at=timestamp(now + TTL_S),
            resumed=resumed,
        )

    async def find(self, resume: m.Resume) -> LinkSession:
        """The session a worker wants back, or `Refused`."""
        claims = read_token(await self.secret(), resume.session_token, self.clock())
        if claims.sid != resume.session_id:
            raise Refused(codes.SESSION_MISMATCH, "the token is of another session", fatal=True)
        if claims.tenant != self.settings.tenant:
            raise Refused(codes.SESSION_TENANT, "the token is of another tenant", fatal=True)
        session = self._by_id.get(resume.session_id)
        if session is None or session.instance != claims.wid:
            # It ended, or lives in a process that is gone. A fresh handshake goes on from here.
            raise Refused(codes.SESSION_UNKNOWN, "Unknown session", fatal=True)
        return session

    async def secret(self) -> bytes:
        if not self._secret:
            self._secret = bytes.fromhex(await self.engine.store.secret())
        return self._secret

    def sign(self, path: str, **query: str) -> str:
        """An address that a worker may fetch, whatever it can show; there is a session by now."""
        assert self._secret, "sessions begin with the secret"
        return sign(self._secret, path, self.engine.store.now() / 1000, **query)

    def token(self, attempt_id: str) -> str:
        """What proves that an attempt was leased to whoever shows it."""
        assert self._secret, "sessions begin with the secret"
        return attempt_token(self._secret, attempt_id)

    # Work

    def stop_attempt(self, attempt_id: str, worker_id: str) -> None:
        session = self.sessions.get(worker_id)
        if session is not None:
            session.stop(attempt_id)

    async def release(self, effect: Effect) -> None:
        """Have a worker let go of what a run left behind, unless the run came back to it."""
        worker_id = effect.address.partition(":")[2]
        session = self.sessions.get(worker_id)
        if session is None or not session.connected:
            raise NotHere(f"worker {worker_id} is not connected here")
        if await self._is_bound(effect.run_id, worker_id):
            return
        await self.deliver(session, m.ReleaseResources(scope=effect.run_id, reason="it is over"))

    async def deliver(self, session: LinkSession, message: m.Message) -> None:
        """Send a command and see it arrive; `NotHere` if it does not. The line may be dead without
        anybody knowing, and the worker be back on any server."""
        try:
            await session.deliver(message)
        except Unavailable as error:
            raise NotHere(str(error)) from error

    async def _is_bound(self, run_id: str, worker_id: str) -> bool:
        """Whether a run that goes on belongs to a worker."""
        where = [Cond("run_id", "=", run_id), Cond("worker_id", "=", worker_id)]
        async with self.engine.store.session() as session:
            runs = await session.rows(Run, [run_id])
        if not runs or runs[0].state in RUN_ENDED:
            return False
        return bool(await self.engine.store.page(Binding, where, order="package", limit=1))

    def _new_handler(self, package: str) -> None:
        for session in self.sessions.values():
            if package in session.profile.packages:
                session.ask()

    # The duties of a loop

    async def renew(self, sessions: Sequence[LinkSession] | None = None) -> None:
        """Keep the leases of everything connected workers hold."""
        holders = [s for s in sessions or self.sessions.values() if s.connected]
        ids = {
            attempt_id
            for session in holders
            for attempt_id in (
                *(h.attempt_id for h in session.held.values() if not h.stopped),
                *session.reports.pending,
            )
        }
        if not ids:
            return
        stopping = await self.attempts.renew(sorted(ids))
        for session in holders:
            for held in list(session.held.values()):
                if held.attempt_id in ids and stopping.get(held.attempt_id, True):
                    session.stop(held.attempt_id)

    async def check_tokens(self) -> None:
        """End connections whose token counts no longer."""
        asked = self.live
        allowed = await asyncio.gather(*(session.still_allowed() for session in asked))
        for session, may in zip(asked, allowed, strict=True):
            if session.connected and not may:
                text = "the token is revoked or has expired"
                log.warning("worker %s: %s", session.worker_id, text)
                session.link.refuse(codes.INVALID_TOKEN, text, self.clock())
                session.flush()

    async def check(self) -> None:
        """Note who is there, and end connections that have been silent for too long."""
        now = self.clock()
        limit = self.settings.heartbeat_s
        present: list[LinkSession] = []
        for session in list(self.sessions.values()):
            silent = now - session.heard_at
            missed = int(silent // limit)
            self.counts.heartbeats_missed[session.worker_id] += max(0, missed - session.missed)
            session.missed = missed
            if session.connected and silent > 3 * limit:
                log.warning("worker %s has been silent for %.0f s", session.worker_id, silent)
                session.link.refuse(codes.SESSION_DENIED, "no heartbeat", now)
                session.flush()
            elif session.connected:
                present.append(session)
            elif not session.given_up and now - session.cut_at > self.attempts.lease_s:
                # Its leases are gone; what only waits for it need not wait any longer.
                await self.noting.gone(session)
            elif now - session.cut_at > self.attempts.lease_s + limit:
                self._forget(session)
        # All in one commit; what cannot be written of one worker is no reason to lose the others.
        noted = await asyncio.gather(*map(self.noting.note, present), return_exceptions=True)
        raise_outage(noted)

    def is_cut_off(self, worker: Worker) -> bool:
        """Whether a worker was last connected here and is not any more."""
        session = self.sessions.get(worker.id)
        if session is None or session.connected:
            return False
        return is_of(worker, session)

    def _forget(self, session: LinkSession) -> None:
        if self.sessions.get(session.worker_id) is session:
            del self.sessions[session.worker_id]
            self.counts.heartbeats_missed.pop(session.worker_id, None)
        self._by_id.pop(session.id, None)

    def line_cut(self, session: LinkSession, *, gone: bool) -> None:
        """A worker has no connection any more. One that says it is gone for good, and has nothing
        left to do, is not waited for."""
        over = gone and not session.held and not session.reports.pending
        note = self.noting.gone if over else self.noting.cut
        session.spawn(session.reports.quietly(note(session)))

    def addresses(self) -> list[str]:
        """Whom effects can reach through this process."""
        return [worker_address(session.worker_id) for session in self.live]

    @property
    def live(self) -> Sequence[LinkSession]:
        return [session for session in self.sessions.values() if session.connected]

    def metric_lines(self) -> list[str]:
        live = self.live
        return self.counts.lines(len(live), sum(len(session.held) for session in live))


def _clock() -> Callable[[], float]:
    """Unix time that never runs backwards."""
    offset = time.time() - time.monotonic()
    return lambda: time.monotonic() + offset

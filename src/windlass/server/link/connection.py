"""One WebSocket of a worker: reads frames into the link, writes what the link has to say."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial

from starlette.websockets import WebSocket, WebSocketDisconnect

from windlass.engine.workers import check_id
from windlass.model.errors import BadRequest, Denied, Unauthorized, Unavailable, WindlassError
from windlass.model.tenants import ALL
from windlass.protocol.link import codes
from windlass.protocol.link import messages as m
from windlass.protocol.link.envelope import GOING_AWAY, Refused
from windlass.protocol.link.server import (
    Arrived,
    Beat,
    Delivered,
    Event,
    Garbled,
    Hello,
    LinkState,
    Registered,
    Resuming,
    ServerLink,
)
from windlass.server.auth import STALE_MS, Auth, Who, check_local
from windlass.server.context import context_of
from windlass.server.link.plane import LinkPlane
from windlass.server.link.session import LinkSession

log = logging.getLogger(__name__)

CLOSE_CODE = 1011
_REASON_BYTES_MAX = 120
HELLO_S = 10.0
"""How long a new connection may take to say who it is and what it can do."""


async def worker_link(websocket: WebSocket) -> None:
    """`/ws/worker`"""
    auth = context_of(websocket).auth
    if not auth.required:
        try:
            check_local(websocket)
        except Denied:
            await websocket.close(1008)
            return
    await websocket.accept()
    await Connection(context_of(websocket).link, auth, websocket).run()


class Connection:
    """The socket side of one link."""

    def __init__(self, plane: LinkPlane, auth: Auth, websocket: WebSocket) -> None:
        self._plane = plane
        self._auth = auth
        self._websocket = websocket
        self._link = ServerLink(plane.settings.tenant)
        self._session: LinkSession | None = None
        self._write = asyncio.Event()
        self._reason = ""
        self._proof: Callable[[], Awaitable[Who]] | None = None
        """Asks again who the worker has proven to be."""
        self._tenant = ALL
        self._timer: asyncio.TimerHandle | None = None

    async def run(self) -> None:
        writer = asyncio.ensure_future(self._writing())
        gone = False
        try:
            await self._reading()
        except WebSocketDisconnect as closed:
            gone = closed.code == GOING_AWAY
        except RuntimeError:
            pass  # the framework's word for writing to a closed socket
        finally:
            if self._timer is not None:
                self._timer.cancel()
            session = self._session
            if session is not None and session.link is self._link:
                # Only our own session: another connection may have taken it over already.
                session.disconnected()
                # Soon, not here: a process that ends with its connections writes nothing more.
                cut = partial(self._plane.line_cut, session, gone=gone)
                asyncio.get_running_loop().call_soon(cut)
            await self._finish(writer)

    async def _finish(self, writer: "asyncio.Task[None]") -> None:
        """Write the last word, then close."""
        writer.cancel()
        await asyncio.gather(writer, return_exceptions=True)
        try:
            for frame in self._link.take(self._plane.clock()):
                await self._websocket.send_text(frame.decode())
            await self._websocket.close(CLOSE_CODE, _short(self._reason))
        except (WebSocketDisconnect, RuntimeError):
            return

    # Reading

    async def _reading(self) -> None:
        try:
            async with asyncio.timeout(HELLO_S) as patience:
                while self._link.state not in (LinkState.READY, LinkState.CLOSED):
                    await self._receive()
                patience.reschedule(None)
                while self._link.state is not LinkState.CLOSED:
                    await self._receive()
        except TimeoutError:
            new = self._link.state is LinkState.NEW
            self._reason = "handshake required" if new else "registration required"
        except Refused as refusal:
            self._reason = refusal.reason
            log.info("link of %s refused: %s", self._link.worker or "somebody", refusal)
            if self._session is not None and self._session.link is self._link:
                self._session.unread(refusal.reason)
            self._link.refuse(refusal.code, refusal.reason, self._plane.clock())

    async def _receive(self) -> None:
        message = await self._websocket.receive()
        if message["type"] == "websocket.disconnect":
            raise WebSocketDisconnect(message.get("code", 1006))
        frame = message.get("text") or message.get("bytes") or ""
        self._plane.counts.frame_bytes["in"] += len(frame)
        for event in self._link.receive(frame, self._plane.clock()):
            await self._handle(event)
        self._wake()

    async def _handle(self, event: Event) -> None:
        session = self._session
        match event:
            case Hello():
                await self._check(event.handshake)
            case Registered() if session is None:
                await self._register(event.register)
            case Registered():
                assert session is not None
                session.registered(event.register)
                # Others hear of it with its next sign of life, if not now.
                await session.reports.quietly(self._plane.noting.introduce(session))
            case Resuming():
                await self._resume(event.resume)
            case Beat():
                if session is not None:
                    session.beat(event.heartbeat)
            case Delivered():
                if session is not None:
                    session.delivered(event.id, ok=event.ok)
            case Arrived():
                assert session is not None
                session.arrived(event)
            case Garbled():
                assert session is not None
                session.garbled(event)

    async def _check(self, handshake: m.Handshake) -> None:
        await self._authenticate(handshake)
        try:
            check_id(handshake.worker.name)
        except BadRequest as error:
            raise Refused(codes.INVALID, str(error), fatal=True) from error
        instance = handshake.worker.worker_instance_id or self._plane.new_id()
        self._link.welcome(self._plane.clock(), instance)

    async def _authenticate(self, handshake: m.Handshake) -> None:
        if not self._auth.required:
            return
        auth, name = handshake.auth, handshake.worker.name
        if auth.mode not in ("token", "mtls"):
            text = f'there is no way "{auth.mode}" to say who one is; there are token and mtls'
            raise Refused(codes.MODE_UNSUPPORTED, text, fatal=True)
        if auth.mode == "mtls":
            shown = self._websocket.scope.get("state", {}).get("peer_fingerprint", "")
            if not shown:
                text = "no client certificate came with the connection"
                raise Refused(codes.MTLS_REQUIRED, text, fatal=True)
            await self._allow(name, lambda: self._auth.who_shows(shown, STALE_MS))
            return
        if not auth.token:
            raise Refused(codes.MISSING_TOKEN, "the handshake has no token", fatal=True)
        token = auth.token
        await self._allow(name, lambda: self._auth.who(token, STALE_MS))

    async def _allow(self, name: str, proof: Callable[[], Awaitable[Who]]) -> None:
        self._proof = proof
        try:
            who = await proof()
        except Unauthorized as error:
            raise Refused(codes.INVALID_TOKEN, str(error), fatal=True) from error
        except Unavailable as error:
            raise Refused(codes.INTERNAL, str(error), fatal=True) from error
        if not who.may("worker"):
            text = f"this needs the worker role; the token is a {who.role}'s"
            raise Refused(codes.INVALID_TOKEN, text, fatal=True)
        try:
            who.check_worker(name)
        except Denied as error:
            raise Refused(codes.INVALID_TOKEN, str(error), fatal=True) from error
        self._tenant = who.works_for

    async def _register(self, register: m.Register) -> None:
        try:
            session = await self._plane.begin(self._link, register, self._tenant)
            accept = await self._plane.accept(session, resumed=False)
        except WindlassError as error:
            raise Refused(codes.INTERNAL, str(error), fatal=True) from error
        if self._plane.sessions.get(session.worker_id) is not session:
            raise Refused(codes.SESSION_DENIED, "superseded session", fatal=True)
        session.proof = self._proof
        self._attach(session)
        self._link.accept(accept, self._plane.clock())
        session.registered(register)
        if session.draining:
            session.drain(True, "it was draining before")

    async def _resume(self, resume: m.Resume) -> None:
        try:
            session = await self._plane.find(resume)
            if not await session.still_allowed():
                text = "what the worker proved itself by is revoked"
                raise Refused(codes.INVALID_TOKEN, text, fatal=True)
            accept = await self._plane.accept(session, resumed=True)
        except Unavailable as error:
            raise Refused(codes.INTERNAL, str(error), fatal=True) from error
        if self._plane.sessions.get(session.worker_id) is not session:
            # It was taken over or given up while we asked.
            raise Refused(codes.SESSION_UNKNOWN, "Unknown session", fatal=True)
        older = session.link
        wake = session.wake
        channel = older.channel
        self._link.take_up(channel, resume, accept, older, self._plane.clock())
        session.link = self._link
        if wake is not None:
            wake()
        self._attach(session)
        session.resumed()

    def _attach(self, session: LinkSession) -> None:
        self._session = session
        host = self._websocket.headers.get("host", "")
        secure = self._websocket.url.scheme == "wss"
        session.base_url = f"{'https' if secure else 'http'}://{host}"
        session.wake = self._wake

    # Writing

    def _wake(self) -> None:
        self._write.set()

    async def _writing(self) -> None:
        try:
            while True:
                await self._write.wait()
                self._write.clear()
                frames = self._link.take(self._plane.clock())
                for frame in frames:
                    self._plane.counts.frame_bytes["out"] += len(frame)
                    await self._websocket.send_text(frame.decode())
                self._schedule()
                if self._link.state is LinkState.CLOSED:
                    reason = self._reason or "superseded session"
                    await self._websocket.close(CLOSE_CODE, _short(reason))
                    return
        except (WebSocketDisconnect, RuntimeError):
            return

    def _schedule(self) -> None:
        """See that frames nobody acknowledged are sent again in time."""
        if self._timer is not None or self._link.state is not LinkState.READY:
            return
        due = self._link.channel.due
        if due is not None:
            wait = max(0.0, due - self._plane.clock())
            self._timer = asyncio.get_running_loop().call_later(wait, self._tick)

    def _tick(self) -> None:
        self._timer = None
        session = self._session
        if session is None or session.link is not self._link:
            return
        for frame_id in self._link.channel.tick(self._plane.clock()):
            session.undelivered(frame_id)
        self._schedule()
        self._wake()


def _short(reason: str) -> str:
    """A reason as it fits into the frame that closes a connection, which is counted in bytes."""
    return reason.encode(errors="replace")[:_REASON_BYTES_MAX].decode(errors="ignore")

"""The worker's end of the link: it opens, registers, takes commands and sends what it did.

A `WorkerLink` outlives its connections. In the second generation it takes up its session where it
was; if the server has forgotten it, it begins anew and says so (`Ready.resumed` is false), and the
worker sends again whatever was not acknowledged.
"""

from collections.abc import Callable

import msgspec

from windlass.protocol.link import codes
from windlass.protocol.link import messages as m
from windlass.protocol.link.channel import Channel, Heard, Retry, ack_info, ack_target, read_info
from windlass.protocol.link.envelope import Envelope, Generation, Refused, decode, payload_of


class Ready(msgspec.Struct):
    """The session stands; frames may be sent. `resumed`: nothing that was sent is lost."""

    resumed: bool


class Ordered(msgspec.Struct):
    """A command. It is acknowledged as it arrives."""

    envelope: Envelope
    message: (
        m.Dispatch
        | m.Cancel
        | m.PkgInstall
        | m.PkgUninstall
        | m.Drain
        | m.Rebind
        | m.ReleaseResources
        | m.NextResponse
    )


class FrameSettled(msgspec.Struct):
    """A frame of ours has had its effect at the server, or (`code`) was refused for good."""

    id: str
    code: str = ""


class Turned(msgspec.Struct):
    """The server turned us away; the connection ends, and the next begins with a handshake."""

    code: str
    reason: str


Event = Ready | Ordered | FrameSettled | Turned
_COMMANDS = (
    m.Dispatch,
    m.Cancel,
    m.PkgInstall,
    m.PkgUninstall,
    m.Drain,
    m.Rebind,
    m.ReleaseResources,
    m.NextResponse,
)


class WorkerLink:
    """A worker's session, over as many connections as it takes."""

    def __init__(
        self,
        generation: Generation,
        tenant: str,
        handshake: m.Handshake,
        register: Callable[[], m.Register],
        *,
        retry: Retry | None = None,
    ) -> None:
        self.generation = generation
        self.tenant = tenant
        self.handshake = handshake
        self.register = register
        self.ready = False
        self._retry = retry
        self._session: m.Accept | None = None
        self._hello_id = ""
        self._register_id = ""
        self.channel = self._new_channel()

    def _new_channel(self) -> Channel:
        worker = self.handshake.worker
        sender = worker.worker_instance_id or worker.name
        return Channel(self.generation, "worker", sender, self.tenant, retry=self._retry)

    # Connections

    def connected(self, now: float) -> None:
        """A connection stands: take up the session, or introduce ourselves."""
        self.ready = False
        self._hello_id = self._register_id = ""
        session = self._session
        if session is not None and self.generation is Generation.SECOND:
            self.channel.disconnected()
            resume = m.Resume(
                session_id=session.session_id,
                session_token=session.session_token,
                last_seen_seq=self.channel.inbound.base,
            )
            # Unanswered, it is not sent again: the caller gives up on the connection instead.
            self.channel.send(resume, now, sequenced=False)
            return
        self.channel = self._new_channel()
        self._hello_id = self.channel.send(self.handshake, now, request=True, sequenced=False)
        if self.generation is Generation.FIRST:
            self._introduce(now)

    def _introduce(self, now: float) -> None:
        self._register_id = self.channel.send(self.register(), now, request=True, sequenced=False)

    def disconnected(self) -> None:
        self.ready = False
        self.channel.disconnected()

    def forget_session(self) -> bool:
        """The next connection begins with a handshake; tells whether there was a session."""
        had, self._session = self._session is not None, None
        return had

    def refresh(self, now: float) -> None:
        """What we can do has changed: register again on the live session."""
        if self.ready:
            self._introduce(now)

    # Frames

    def receive(self, frame: str | bytes, now: float) -> list[Event]:
        """Handle one frame; one that makes no sense is ignored, as the server will ask again."""
        envelope = decode(frame)
        if envelope.sender.role != "scheduler" or envelope.tenant != self.tenant:
            raise Refused(codes.SESSION_MISMATCH, "not from our server", fatal=True)
        events: list[Event] = []
        for heard in self.channel.hear(envelope):
            try:
                events += self._handle(heard, payload_of(heard.envelope), now)
            except Refused as refusal:
                info = ack_info(refusal.code, refusal.reason)
                self.channel.settle(heard, now, ok=False, info=info)
        return events

    def _handle(self, heard: Heard, message: m.Message, now: float) -> list[Event]:
        match message:
            case m.Ack():
                return self._acknowledged(heard.envelope, message, now)
            case m.Accept():
                return self._accepted(message, now)
            case m.Reset():
                self.forget_session()
                return [Turned(message.code, message.reason)]
            case _ if isinstance(message, _COMMANDS):
                self.channel.settle(heard, now)
                return [Ordered(heard.envelope, message)]
            case _:
                text = f'"{heard.envelope.type}" is not for a worker'
                raise Refused(codes.UNKNOWN, text, frame_id=heard.envelope.id)

    def _acknowledged(self, envelope: Envelope, ack: m.Ack, now: float) -> list[Event]:
        events: list[Event] = []
        refusal, reason = _refusal(ack)
        named = ack_target(envelope, ack)
        for id_ in self.channel.acknowledged(envelope, ack, now):
            code = refusal if id_ == named else ""
            if id_ == self._hello_id:
                if code:
                    self.forget_session()
                    return [Turned(code, reason)]
                if self.generation is Generation.SECOND:
                    self._introduce(now)
            elif id_ == self._register_id:
                if self.generation is Generation.FIRST and not self.ready:
                    self.ready = True
                    events.append(Ready(resumed=False))
            else:
                events.append(FrameSettled(id_, code))
        return events

    def _accepted(self, accept: m.Accept, now: float) -> list[Event]:
        resumed = bool(accept.resumed)
        self._session = accept
        self.channel.me.id = accept.worker_instance_id
        self.handshake.worker.worker_instance_id = accept.worker_instance_id
        if resumed:
            self.channel.reconnected(None, now)
        self.ready = True
        return [Ready(resumed)]

    # Sending

    def send(
        self,
        message: m.Message,
        now: float,
        *,
        corr: str | None = None,
        request: bool = False,
        sequenced: bool = True,
    ) -> str:
        return self.channel.send(message, now, corr=corr, request=request, sequenced=sequenced)

    def beat(self, heartbeat: m.Heartbeat, now: float) -> None:
        self.channel.send(heartbeat, now, sequenced=False)

    def take(self, now: float) -> list[bytes]:
        return self.channel.take(now)


def _refusal(ack: m.Ack) -> tuple[str, str]:
    """The code and reason of a refusal; "" when it is none."""
    if ack.ok is not False:
        return "", ""
    code, reason = read_info(ack)
    return code or codes.INTERNAL, reason

"""The server's end of the link: frames in, frames and events out.

One `ServerLink` belongs to one connection. Its `channel` is the part that may outlive it: a worker
that resumes brings the old channel to a new link. Who may connect, and which session may be taken
up, is for the caller to say: the link asks by an event and goes on by `welcome`, `accept`,
`take_up` or `refuse`.
"""

from enum import StrEnum

import msgspec

from windlass.protocol.link import codes
from windlass.protocol.link import messages as m
from windlass.protocol.link.channel import Channel, Heard, Retry, ack_info, ack_target
from windlass.protocol.link.envelope import (
    Envelope,
    Generation,
    Refused,
    decode,
    generation_of,
    payload_of,
    task_named,
)

SCHEDULER_ID = "scheduler-control"
ACK_DEADLINE_S = 5.0
"""How long a dispatch may stay unacknowledged before the work goes elsewhere."""
DISPATCH_RETRY = Retry(first_s=1.0, factor=1.5, most_s=5.0, tries=3)
"""Two more tries within the deadline."""

CUMULATIVE = "ack.cumulative"
"""The feature of a worker for which a frame's number is acknowledgement enough: many at once."""


class LinkState(StrEnum):
    NEW = "new"
    HANDSHAKING = "handshaking"
    REGISTERED = "registered"
    READY = "ready"
    CLOSED = "closed"


class Hello(msgspec.Struct):
    """A worker says who it is; answer with `welcome` or `refuse`."""

    handshake: m.Handshake


class Registered(msgspec.Struct):
    """A worker says what it can do; the first time, answer with `accept`."""

    register: m.Register
    again: bool


class Resuming(msgspec.Struct):
    """A worker wants its session back; answer with `take_up` or `refuse`."""

    resume: m.Resume


class Beat(msgspec.Struct):
    heartbeat: m.Heartbeat


class Arrived(msgspec.Struct):
    """Something about the work; `settle` it when its effect is durable."""

    heard: Heard
    message: m.Result | m.CommandError | m.Feedback | m.PkgEvent | m.NextRequest


class Garbled(msgspec.Struct):
    """The end of a task, told in a frame that cannot be read; `settle` it like what arrives."""

    heard: Heard
    run_id: str
    task_id: str
    reason: str


class Delivered(msgspec.Struct):
    """A frame of ours was acknowledged, or refused (`ok` false)."""

    id: str
    ok: bool = True


Event = Hello | Registered | Resuming | Beat | Arrived | Garbled | Delivered
_BUSINESS = (m.Result, m.CommandError, m.Feedback, m.PkgEvent, m.NextRequest)


class ServerLink:
    """One connection of one worker."""

    def __init__(self, tenant: str) -> None:
        self.tenant = tenant
        self.channel = self._new_channel(Generation.FIRST)
        self.state = LinkState.NEW
        self.generation = Generation.FIRST
        self.handshake: m.Handshake | None = None
        self.worker = ""
        self.instance = ""
        self.features: frozenset[str] = frozenset()
        self._senders: set[str] = set()
        self._opening: Heard | None = None

    def _new_channel(self, generation: Generation) -> Channel:
        return Channel(generation, "scheduler", SCHEDULER_ID, self.tenant, retry=DISPATCH_RETRY)

    def receive(self, frame: str | bytes, now: float) -> list[Event]:
        """Handle one frame. `Refused` with `fatal` set means: send what `take` gives, then close.

        Other refusals are answered here and change nothing.
        """
        if self.state is LinkState.CLOSED:
            # Nobody would settle it; the worker sends it again on its next connection.
            return []
        try:
            return self._receive(decode(frame), now)
        except Refused as refusal:
            if refusal.fatal:
                raise
            if refusal.frame_id:
                self._turn_down(refusal, now)
            return []

    def _receive(self, envelope: Envelope, now: float) -> list[Event]:
        if self.state is LinkState.NEW:
            return self._first(envelope, now)
        self._check_sender(envelope)
        if generation_of(envelope.type) not in (self.generation, None):
            text = f'"{envelope.type}" belongs to the other generation of the wire'
            raise Refused(codes.INVALID, text, fatal=True)
        events: list[Event] = []
        for heard in self.channel.hear(envelope):
            try:
                events += self._handle(heard, payload_of(heard.envelope), now)
            except Refused as refusal:
                if refusal.fatal:
                    raise
                events += self._not_read(refusal, heard, now)
        return events

    def _not_read(self, refusal: Refused, heard: Heard, now: float) -> list[Event]:
        """A frame that makes no sense changes nothing, unless it was the end of a task: that task
        is not in the worker's hands any more, and nobody would ever hear of it again."""
        task = task_named(heard.envelope) if self.state is LinkState.READY else None
        if task is None:
            self._turn_down(refusal, now, heard)
            return []
        return [Garbled(heard, task.run_id, task.task_id, refusal.reason)]

    def _first(self, envelope: Envelope, now: float) -> list[Event]:
        generation = generation_of(envelope.type)
        if generation is None:
            raise Refused(codes.HANDSHAKE_REQUIRED, "handshake required", fatal=True)
        self.generation = generation
        self.channel = self._new_channel(generation)
        self._opening = Heard(envelope)
        try:
            message = payload_of(envelope)
        except Refused as refusal:
            raise Refused(refusal.code, refusal.reason, fatal=True) from refusal
        if not isinstance(message, m.Handshake | m.Resume):
            raise Refused(codes.HANDSHAKE_REQUIRED, "handshake required", fatal=True)
        if envelope.sender.role != "worker":
            raise Refused(codes.UNAUTHENTICATED, "only workers connect here", fatal=True)
        if envelope.tenant != self.tenant:
            text = f'this server serves tenant "{self.tenant}"'
            raise Refused(codes.SESSION_TENANT, text, fatal=True)
        self._senders = {envelope.sender.id}
        if isinstance(message, m.Resume):
            return [Resuming(message)]
        if not message.worker.name:
            raise Refused(codes.INVALID, "the worker has no name", fatal=True)
        self.handshake = message
        self.worker = message.worker.name
        self.instance = message.worker.worker_instance_id or ""
        self._senders |= {self.worker, self.instance or self.worker}
        self.state = LinkState.HANDSHAKING
        return [Hello(message)]

    def _check_sender(self, envelope: Envelope) -> None:
        if envelope.tenant != self.tenant:
            raise Refused(codes.SESSION_TENANT, "a frame of another tenant", fatal=True)
        if envelope.sender.role != "worker" or envelope.sender.id not in self._senders:
            raise Refused(codes.SESSION_MISMATCH, "a frame of another sender", fatal=True)

    def _handle(self, heard: Heard, message: m.Message, now: float) -> list[Event]:
        match message:
            case m.Ack():
                named = ack_target(heard.envelope, message)
                refused = named if message.ok is False else None
                ids = self.channel.acknowledged(heard.envelope, message, now)
                return [Delivered(id_, id_ != refused) for id_ in ids]
            case m.Register():
                again = self.state is not LinkState.HANDSHAKING
                if again:
                    self.channel.settle(heard, now)
                else:
                    # Acknowledged with `accept`: by then others know of the worker too.
                    self._opening = heard
                self.state = LinkState.READY if again else LinkState.REGISTERED
                self.features = frozenset(message.capabilities.features)
                return [Registered(message, again)]
            case m.Heartbeat():
                self.channel.settle(heard, now)
                return [Beat(message)]
            case m.Handshake() if message == self.handshake:
                # Our answer was lost; it is not a second worker.
                self.channel.settle(heard, now)
                return []
            case _ if isinstance(message, _BUSINESS):
                if self.state is not LinkState.READY:
                    raise Refused(codes.SESSION_NOT_REGISTERED, "register first", fatal=True)
                return [Arrived(heard, message)]
            case _:
                text = f'"{heard.envelope.type}" is not for a server'
                raise Refused(codes.UNKNOWN, text, frame_id=heard.envelope.id)

    def _turn_down(self, refusal: Refused, now: float, heard: Heard | None = None) -> None:
        """Say no to one frame; the connection goes on."""
        if heard is not None:
            info = ack_info(refusal.code, refusal.reason)
            self.channel.settle(heard, now, ok=False, info=info)

    # The caller's answers

    def welcome(self, now: float, instance: str) -> None:
        """The handshake is good."""
        self.instance = instance
        self._senders.add(instance)
        assert self._opening is not None
        self.channel.settle(self._opening, now)

    def accept(self, accept: m.Accept | None, now: float) -> None:
        """The registration is taken; the second generation is told its session."""
        self.state = LinkState.READY
        assert self._opening is not None
        self.channel.settle(self._opening, now)
        if accept is not None and self.generation is Generation.SECOND:
            self.channel.send(accept, now, sequenced=False)

    def take_up(
        self, channel: Channel, resume: m.Resume, accept: m.Accept, other: "ServerLink", now: float
    ) -> None:
        """Go on with the session of an earlier connection."""
        opening = self._opening
        assert opening is not None
        self.channel = channel
        self.handshake = other.handshake
        self.worker, self.instance = other.worker, other.instance
        self.features = other.features
        self._senders |= {self.worker, self.instance}
        self.state = LinkState.READY
        other.let_go()
        channel.disconnected()
        channel.settle(opening, now)
        channel.send(accept, now, sequenced=False)
        channel.reconnected(resume.last_seen_seq, now)

    def let_go(self) -> None:
        """Another connection has the session now: what is still written or read here must not
        touch its channel."""
        self.state = LinkState.CLOSED
        self.channel = self._new_channel(self.generation)

    def refuse(self, code: str, reason: str, now: float) -> None:
        """Turn the worker away; close the connection once what `take` gives is written."""
        if self.state is LinkState.CLOSED:
            return
        if self._opening is not None:
            if self.generation is Generation.SECOND:
                self.channel.send(m.Reset(code=code, reason=reason), now, sequenced=False)
            else:
                info = ack_info(code, reason)
                self.channel.settle(self._opening, now, ok=False, info=info)
        self.state = LinkState.CLOSED

    # Sending

    def send(
        self,
        message: m.Message,
        now: float,
        *,
        id_: str = "",
        corr: str | None = None,
        seq: int | None = None,
    ) -> str:
        """Send a command that must arrive."""
        sequenced = not isinstance(message, m.Drain | m.Rebind)
        numbered = sequenced and self.generation is Generation.SECOND
        return self.channel.send(
            message,
            now,
            id_=id_,
            corr=corr,
            seq=seq,
            request=not (numbered and CUMULATIVE in self.features),
            sequenced=sequenced,
        )

    def settle(
        self, arrived: Arrived | Garbled, now: float, *, code: str = "", reason: str = ""
    ) -> None:
        """Acknowledge what is durable now, or (with a code) what was refused for good, unless the
        code only tells something."""
        info = ack_info(code, reason) if code else None
        self.channel.settle(arrived.heard, now, ok=not code or code in codes.TOLD, info=info)

    def take(self, now: float) -> list[bytes]:
        return self.channel.take(now)

"""A channel: frames that arrive for certain, whichever generation the other end speaks.

Whatever asks for an acknowledgement is registered before it is sent, sent again with growing
pauses until it is acknowledged, and reported when that never happens. In the second generation
numbered frames also survive the connection: a channel outlives its sockets.
"""

from collections.abc import Iterable
from typing import Literal

import msgspec
from msgspec.structs import replace

from windlass.model.values import is_object
from windlass.protocol.link import messages as m
from windlass.protocol.link.envelope import (
    NAMES,
    AckRequest,
    Envelope,
    Generation,
    Sender,
    encode,
    timestamp,
)
from windlass.protocol.link.windows import WINDOW, Inbound, Outbound


class Retry(msgspec.Struct, frozen=True):
    """When a frame that was not acknowledged is sent again."""

    first_s: float = 0.2
    factor: float = 2.0
    most_s: float = 5.0
    tries: int = 6


class Sent:
    """A frame that waits for its acknowledgement."""

    __slots__ = ("due", "envelope", "pause_s", "tries")

    def __init__(self, envelope: Envelope) -> None:
        self.envelope = envelope
        self.due = 0.0
        self.pause_s = 0.0
        self.tries = 0


class Heard(msgspec.Struct):
    """A frame to be handled now; `settle` it once it has had its effect."""

    envelope: Envelope
    seq: int | None = None


class Channel:
    """One end's side of the traffic. Feed it frames and the time; take what is to be sent."""

    def __init__(
        self,
        generation: Generation,
        role: Literal["scheduler", "worker"],
        sender_id: str,
        tenant: str,
        *,
        retry: Retry | None = None,
        window: int = WINDOW,
    ) -> None:
        self.generation = generation
        self.tenant = tenant
        self.me = Sender(role, sender_id)
        self.inbound: Inbound[Envelope] = Inbound(window)
        self.outbound: Outbound[Sent] = Outbound(window)
        self._window = window
        self._retry = retry or Retry()
        self._by_id: dict[str, Sent] = {}
        self._count = 0
        self._out: list[bytes] = []
        self._ack_owed = False

    # Sending

    def send(
        self,
        message: m.Message,
        now: float,
        *,
        id_: str = "",
        corr: str | None = None,
        seq: int | None = None,
        request: bool = False,
        sequenced: bool = True,
    ) -> str:
        """Send a message; returns its envelope's id. `request` asks for an acknowledgement.

        A `sequenced` message is numbered where the generation numbers frames.
        """
        type_ = NAMES[type(message)].of(self.generation)
        assert type_, f"{type(message).__name__} has no frame in this generation"
        self._count += 1
        envelope = Envelope(
            type=type_,
            id=id_ or f"{type_}-{self._count}",
            ts=timestamp(now),
            corr=corr,
            seq=seq,
            tenant=self.tenant,
            sender=self.me,
            ack=AckRequest(request=True) if request else None,
            payload=msgspec.Raw(encode(message)),
        )
        numbered = sequenced and self.generation is Generation.SECOND
        if numbered or request:
            sent = Sent(envelope)
            self._by_id[envelope.id] = sent
            if numbered:
                self.outbound.add(sent)
                self._admit(now)
            else:
                self._transmit(sent, now)
        else:
            self._out.append(encode(envelope))
        return envelope.id

    def _admit(self, now: float) -> None:
        for seq, sent in self.outbound.admit():
            sent.envelope = replace(sent.envelope, session_seq=seq)
            self._transmit(sent, now)

    def _transmit(self, sent: Sent, now: float) -> None:
        sent.pause_s = (
            min(sent.pause_s * self._retry.factor, self._retry.most_s)
            if sent.tries
            else self._retry.first_s
        )
        sent.tries += 1
        sent.due = now + sent.pause_s
        self._out.append(encode(sent.envelope))

    def take(self, now: float) -> list[bytes]:
        """What is to be written now, in order."""
        if self._ack_owed:
            self._acknowledge(None, now)
        out, self._out = self._out, []
        return out

    # Receiving

    def hear(self, envelope: Envelope) -> list[Heard]:
        """The frames to handle now that this one came; a numbered one may bring or await others."""
        if envelope.session_seq is None:
            return [Heard(envelope)]
        ready = self.inbound.receive(envelope.session_seq, envelope)
        # A duplicate shows that an acknowledgement was lost.
        self._ack_owed = True
        return [Heard(frame, seq) for seq, frame in ready]

    def settle(self, heard: Heard, now: float, *, ok: bool = True, info: str | None = None) -> None:
        """A frame has had its effect: acknowledge it, if that is wanted."""
        if heard.seq is not None:
            self.inbound.settle(heard.seq)
            self._ack_owed = True
        if heard.envelope.wants_ack:
            self._acknowledge(heard.envelope.id, now, ok=ok, info=info)

    def _acknowledge(
        self, id_: str | None, now: float, *, ok: bool = True, info: str | None = None
    ) -> None:
        ack = m.Ack(ok=ok, for_=id_, info=info)
        if self.generation is Generation.SECOND:
            ack.ack_seq = self.inbound.base
            ack.ack_bitmap = self.inbound.bitmap or None
            ack.recv_window = self.inbound.size
            self._ack_owed = False
        self._count += 1
        type_ = NAMES[m.Ack].of(self.generation)
        envelope = Envelope(
            type=type_,
            id=f"{type_}-{self._count}",
            ts=timestamp(now),
            corr=id_,
            tenant=self.tenant,
            sender=self.me,
            ack=AckRequest(for_=id_) if id_ else None,
            payload=msgspec.Raw(encode(ack)),
        )
        self._out.append(encode(envelope))

    def acknowledged(self, envelope: Envelope, ack: m.Ack, now: float) -> list[str]:
        """Ids of the frames an acknowledgement is for, each told once."""
        done: list[Sent] = []
        named = ack_target(envelope, ack)
        if named and named in self._by_id:
            sent = self._by_id[named]
            if sent.envelope.session_seq is not None:
                self.outbound.open.pop(sent.envelope.session_seq, None)
            done.append(sent)
        done += self.outbound.acknowledge(ack.ack_seq, ack.ack_bitmap)
        if self.generation is Generation.SECOND:
            if ack.recv_window is not None:
                self.outbound.size = min(self._window, ack.recv_window)
            self._admit(now)
        return [id_ for sent in done if self._by_id.pop(id_ := sent.envelope.id, None)]

    def answered(self, id_: str) -> None:
        """An answer to a frame is proof that it arrived."""
        sent = self._by_id.pop(id_, None)
        if sent is not None and sent.envelope.session_seq is not None:
            self.outbound.open.pop(sent.envelope.session_seq, None)

    # Time

    @property
    def due(self) -> float | None:
        """When `tick` has something to do next."""
        return min((sent.due for sent in self._tracked()), default=None)

    def _tracked(self) -> Iterable[Sent]:
        return (sent for sent in self._by_id.values() if sent.tries)

    def tick(self, now: float) -> list[str]:
        """Send again what is overdue; returns the ids of frames that were tried often enough.

        A numbered frame goes on being sent, since everything behind it waits for it.
        """
        given_up: list[str] = []
        for sent in list(self._tracked()):
            if sent.due > now:
                continue
            if sent.tries == self._retry.tries:
                given_up.append(sent.envelope.id)
                if sent.envelope.session_seq is None:
                    del self._by_id[sent.envelope.id]
                    continue
            self._transmit(sent, now)
        return given_up

    @property
    def unacknowledged(self) -> int:
        return len(self._by_id)

    # Connections

    def reconnected(self, last_seen_seq: int | None, now: float) -> None:
        """The other end resumed on a new connection: send again what it has not seen."""
        for id_ in [sent.envelope.id for sent in self.outbound.acknowledge(last_seen_seq, None)]:
            self._by_id.pop(id_, None)
        for sent in self.outbound.open.values():
            sent.tries = 0
            self._transmit(sent, now)
        self._admit(now)
        self._ack_owed = True

    def disconnected(self) -> None:
        """Nothing can be written for now."""
        self._out.clear()


def ack_target(envelope: Envelope, ack: m.Ack) -> str | None:
    """The one frame an acknowledgement names: in the payload, or only in the envelope."""
    return ack.for_ or (envelope.ack.for_ if envelope.ack is not None else None)


def ack_info(code: str, reason: str) -> str:
    """Why a frame was refused, as an acknowledgement's `info` says it: text, in both schemas."""
    return f"{code}: {reason}"


def read_info(ack: m.Ack) -> tuple[str, str]:
    """The code and reason in an acknowledgement's `info`; servers used to send an object there."""
    if is_object(ack.info):
        return str(ack.info.get("code") or ""), str(ack.info.get("message") or "")
    code, mark, reason = str(ack.info or "").partition(": ")
    return (code, reason) if mark and code.startswith("E.") else ("", str(ack.info or ""))

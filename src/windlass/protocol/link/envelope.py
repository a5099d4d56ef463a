"""Envelopes: one JSON object per frame, and the two generations' names for the same messages."""

import json
import re
from enum import IntEnum
from typing import Literal, TypeVar

import msgspec

from windlass.model.times import iso
from windlass.model.values import DEPTH_MAX, depth_of, is_list, is_object
from windlass.protocol.link import codes
from windlass.protocol.link import messages as m

FRAME_BYTES_MAX = 1024 * 1024
"""What a stock WebSocket client takes in one message."""
PAYLOAD_BYTES_MAX = FRAME_BYTES_MAX - 16 * 1024
"""What is left of that for a payload, in whatever envelope."""
GOING_AWAY = 1001
"""The code a worker closes its connection with when it goes for good."""

M = TypeVar("M", bound=m.Message)


class Generation(IntEnum):
    FIRST = 1
    SECOND = 2


class Refused(Exception):
    """A frame that cannot be taken. `fatal`: the connection cannot go on after it."""

    def __init__(self, code: str, reason: str, *, fatal: bool = False, frame_id: str = "") -> None:
        super().__init__(f"{code}: {reason}")
        self.code = code
        self.reason = reason
        self.fatal = fatal
        self.frame_id = frame_id


class Sender(msgspec.Struct, forbid_unknown_fields=True):
    role: Literal["scheduler", "worker"]
    id: m.Name


class AckRequest(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    for_: str | None = msgspec.field(default=None, name="for")
    request: bool | None = None


class Envelope(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True, kw_only=True):
    """What every frame is wrapped in."""

    type: m.Name
    id: m.Name
    ts: str
    corr: str | None = None
    seq: m.Count | None = None
    session_seq: m.Count | None = None
    tenant: m.Name
    sender: Sender
    ack: AckRequest | None = None
    flags: list[str] | None = None
    payload: msgspec.Raw

    @property
    def wants_ack(self) -> bool:
        return self.ack is not None and bool(self.ack.request)


class Name(msgspec.Struct, frozen=True):
    """A message's names on the wire; "" where a generation has none."""

    first: str
    second: str

    def of(self, generation: Generation) -> str:
        return self.first if generation is Generation.FIRST else self.second


NAMES: dict[type[m.Message], Name] = {
    m.Handshake: Name("handshake", "control.handshake"),
    m.Register: Name("register", "control.register"),
    m.Accept: Name("", "control.session.accept"),
    m.Resume: Name("", "control.resume"),
    m.Reset: Name("", "control.reset"),
    m.Drain: Name("cmd.drain", "control.drain"),
    m.Heartbeat: Name("heartbeat", "control.heartbeat"),
    m.Ack: Name("ack", "control.ack"),
    m.Dispatch: Name("cmd.dispatch", "biz.exec.dispatch"),
    m.Result: Name("result", "biz.exec.result"),
    m.CommandError: Name("command.error", "biz.exec.error"),
    m.Feedback: Name("feedback", "biz.exec.feedback"),
    m.NextRequest: Name("", "biz.exec.next.request"),
    m.NextResponse: Name("", "biz.exec.next.response"),
    m.PkgInstall: Name("pkg.install", "biz.pkg.install"),
    m.PkgUninstall: Name("pkg.uninstall", "biz.pkg.uninstall"),
    m.PkgEvent: Name("pkg.event", "biz.pkg.event"),
    m.PkgCatalog: Name("", "biz.pkg.catalog"),
    m.Cancel: Name("cmd.cancel", "biz.exec.cancel"),
    m.Rebind: Name("cmd.rebind", "control.rebind"),
    m.ReleaseResources: Name("resource.release", "biz.resource.release"),
}
FEATURES: dict[type[m.Message], Name] = {
    m.Drain: Name("drain", ""),
    m.Cancel: Name("exec.cancel", "exec.cancel"),
    m.Rebind: Name("rebind", "rebind"),
    m.ReleaseResources: Name("resource.release", "resource.release"),
}
"""Frames beyond the published wire, and the feature a worker must advertise to be sent one; ""
where its generation knows the frame."""

TYPES: dict[str, type[m.Message]] = {
    name: message
    for message, names in NAMES.items()
    for name in (names.first, names.second)
    if name
}
# The first generation's document calls it one thing, its code another.
TYPES["error"] = m.CommandError

_GENERATIONS: dict[str, Generation] = {"error": Generation.FIRST} | {
    name: generation
    for names in NAMES.values()
    for generation, name in ((Generation.SECOND, names.second), (Generation.FIRST, names.first))
    if name
}

_CAPITAL = re.compile("([A-Z])")
_decoder = msgspec.json.Decoder(Envelope)
_payloads: dict[type[m.Message], msgspec.json.Decoder[m.Message]] = {
    message: msgspec.json.Decoder(message) for message in NAMES
}
_encoder = msgspec.json.Encoder()
_HALF = re.compile(rb"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")


def encode(value: object) -> bytes:
    return _encoder.encode(value)


def decode(frame: str | bytes) -> Envelope:
    """A frame's envelope; whatever is wrong with it ends the connection."""
    text = frame.encode() if isinstance(frame, str) else frame
    if len(text) > FRAME_BYTES_MAX:
        raise Refused(codes.INVALID, f"a frame of {len(text)} bytes is too large", fatal=True)
    if depth_of(text) > DEPTH_MAX:
        raise Refused(codes.INVALID, f"nested more than {DEPTH_MAX} levels deep", fatal=True)
    try:
        return _decoder.decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        mended = _mended(text, str(error))
        if mended is None:
            raise Refused(codes.INVALID, f"not an envelope: {error}", fatal=True) from error
        return mended


class Mended(Envelope):
    """A frame with NaN or halves of characters in it, as Python's JSON writes and nobody reads.

    It is good for knowing which frame it is, so that it is refused alone and not sent for ever.
    """

    flaw: str


def _mended(text: bytes, flaw: str) -> Mended | None:
    whole = _HALF.sub(rb"\\ufffd", text.decode(errors="replace").encode())
    try:
        envelope = _decoder.decode(encode(json.loads(whole)))
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    return Mended(**msgspec.structs.asdict(envelope), flaw=flaw)


def feature_of(message: type[m.Message], generation: Generation) -> str:
    """The feature a worker must advertise to be sent such a frame; "" if all of them know it."""
    names = FEATURES.get(message)
    return "" if names is None else names.of(generation)


def generation_of(type_: str) -> Generation | None:
    return _GENERATIONS.get(type_)


def payload_of(envelope: Envelope) -> m.Message:
    """What a frame says, or `Refused` with the reason."""
    if isinstance(envelope, Mended):
        raise Refused(codes.INVALID, f"{envelope.type}: {envelope.flaw}", frame_id=envelope.id)
    message = TYPES.get(envelope.type)
    if message is None:
        text = f'no frame is called "{envelope.type}"'
        raise Refused(codes.UNKNOWN, text, frame_id=envelope.id)
    try:
        return _decode(message, envelope.payload)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        text = f"{envelope.type}: {error}"
        raise Refused(codes.INVALID, text, frame_id=envelope.id) from error


def _decode(message: type[m.Message], payload: msgspec.Raw) -> m.Message:
    try:
        return _payloads[message].decode(payload)
    except msgspec.ValidationError:
        if message is not m.Result:
            raise
        # A published sample spells artifacts otherwise than the schema does.
        fields = msgspec.json.decode(payload, type=dict[str, msgspec.Raw])
        artifacts = msgspec.json.decode(fields.get("artifacts", b"null"))
        if not is_list(artifacts):
            raise
        fields["artifacts"] = msgspec.Raw(encode([spelled_by_schema(item) for item in artifacts]))
        return _payloads[message].decode(encode(fields))


def spelled_by_schema(item: object) -> object:
    """An object whose names are in snake case."""
    if not is_object(item):
        return item
    return {_CAPITAL.sub(r"_\1", name).lower(): value for name, value in item.items()}


class Named(msgspec.Struct):
    """The task a frame is about, whatever else it says."""

    run_id: str = ""
    task_id: str = ""


def task_named(envelope: Envelope) -> Named | None:
    """The task whose end a frame tells of, if it tells of one at all."""
    if TYPES.get(envelope.type) not in (m.Result, m.CommandError):
        return None
    try:
        found = msgspec.json.decode(envelope.payload, type=Named)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        found = Named()
    return found if found.task_id or envelope.corr else None


def timestamp(now: float) -> str:
    return iso(round(now * 1000))

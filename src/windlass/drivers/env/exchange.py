"""What a control plane and a host of environments say to each other, over any duplex channel.

Every question has a number, and any number of them may be open at a time. An answer ends it, and so
does `Dropped`, by which whoever asked says that nobody waits any more. `Said` belongs to a question
that is open: a message of a DevTools client or of the browser, or a line of a build's log. So does
`Printed`, a piece of what a command says; the host sends no more of it than `UNHEARD_BYTES_MAX`
ahead of `Heard`, so that a slow reader slows the command down rather than filling anybody's memory.
"""

from typing import Any, Protocol

import msgspec

from windlass.ports.env import (
    NoSuchFile,
    PlaceError,
    PlaceGone,
    PlaceSpec,
    RuntimeAway,
    Snapshot,
    StalePlace,
)

MESSAGE_BYTES_MAX = 300 << 20
"""A channel must carry messages this large: a file, or what a browser says at once."""
ASKED_MAX = 64
"""How many questions may be open on one channel."""
SERVED_MAX = 256
"""How many DevTools clients, commands and builds may be open on one channel."""
SAID_MAX = 4_096
"""How many messages may wait for a reader; one that falls further behind is hung up on."""
UNHEARD_BYTES_MAX = 1 << 20
"""How much a command may say that nobody has read yet, each piece with what it costs to carry."""
PIECE_COST_BYTES = 256

IMAGES = "images"
"""In place of a kind: the images of the container runtime."""
LONG = frozenset(("serve", "build", "execute"))
"""Questions that stay open for as long as somebody talks."""

METHODS = frozenset(
    (
        "allocate",
        "build",
        "capabilities",
        "changes",
        "execute",
        "inspect",
        "list",
        "pull",
        "read",
        "release",
        "restore",
        "screenshot",
        "serve",
        "snapshot",
        "still",
        "write",
    )
)
ARGUMENTS: dict[str, Any] = {"spec": PlaceSpec, "snapshot": Snapshot}
"""What is more than plain values, by the argument's name."""
ERRORS: dict[str, type[Exception]] = {
    kind.__name__: kind for kind in (NoSuchFile, PlaceError, PlaceGone, RuntimeAway, StalePlace)
}


class Channel(Protocol):
    """Carries messages whole and in order; both raise `SocketEnded` once it has ended."""

    async def send(self, message: bytes) -> None: ...

    async def recv(self) -> bytes: ...


class Asked(msgspec.Struct, frozen=True, tag=True):
    number: int
    kind: str
    method: str
    arguments: dict[str, Any] = {}


class Answered(msgspec.Struct, frozen=True, tag=True):
    number: int
    result: Any = None


class Failed(msgspec.Struct, frozen=True, tag=True):
    number: int
    error: str
    reason: str


class Dropped(msgspec.Struct, frozen=True, tag=True):
    number: int


class Said(msgspec.Struct, frozen=True, tag=True):
    number: int
    text: str | None = None
    """Nothing to hang up."""


class Printed(msgspec.Struct, frozen=True, tag=True):
    number: int
    stream: str
    data: bytes

    @property
    def cost(self) -> int:
        return len(self.data) + PIECE_COST_BYTES


class Heard(msgspec.Struct, frozen=True, tag=True):
    number: int
    cost: int


class Servers(msgspec.Struct, frozen=True, tag=True):
    """Said by a server when a host has come, and whenever it changes: who else there is."""

    me: str
    """Which of them says so."""
    urls: dict[str, str]
    """Where each is reached, by the name of its process."""
    number: int = 0


Message = Asked | Answered | Failed | Dropped | Said | Printed | Heard | Servers


def encode(message: Message) -> bytes:
    return msgspec.msgpack.encode(message)


def decode(data: bytes) -> Message:
    """`msgspec.DecodeError` for what is no message."""
    message: Message = msgspec.msgpack.decode(data, type=Message)
    return message


def failed(number: int, error: Exception) -> Failed:
    """An error as the port has it; one of a driver's own kind is told as what it is there."""
    for kind in type(error).__mro__:
        if kind.__name__ in ERRORS:
            return Failed(number, kind.__name__, str(error))
    return Failed(number, RuntimeAway.__name__, f"{type(error).__name__}: {error}")

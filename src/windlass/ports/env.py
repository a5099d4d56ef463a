"""Environments: places that work is done in, such as a container or a browser with its session.

Promise. A place has a name that follows from its session, so whoever asks twice, or asks after a
crash, gets the same place: `allocate` of a name that is there returns it, `release` of one that is
gone is fine, and `list` finds all that were ever made here and not released, whoever made them and
whatever was restarted since. A place outlives the process that made it. Nothing here knows of
tasks, leases or the store: who may use a place is decided before it comes here, and `epoch` tells
holders of one place apart: once a later one has been seen, an earlier one is refused
(`StalePlace`), and `still` ends whatever an earlier one has left running.

Paths that do not begin with a slash are below the place's workspace. A place that was stopped from
outside counts as gone for its holders, until `allocate` starts it again as it was left, or
`restore` brings it back as a snapshot has it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import msgspec

Config = Mapping[str, Any]

OUTPUT_BYTES_MAX = 1 << 20
"""How much is kept of what a command says, of each of its two streams."""
PIECE_BYTES_MAX = 1 << 16
"""How much of what a command says is passed on at once."""
FILES_TOLD_MAX = 200
"""How many files are named that are others than before."""
FILE_BYTES_MAX = 8 << 20
"""The largest file that is read or written whole."""


class PlaceSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What a place is to be."""

    name: str
    """Unique, and made of `[a-z0-9-]`: what the runtime calls it."""
    config: dict[str, Any]
    """As its resource says, checked by `check`."""
    labels: dict[str, str] = {}
    """For people who look at the runtime: tenant, resource, run, task."""


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """A place that is there."""

    name: str
    details: dict[str, Any] = {}
    """What people may know of it: the image's digest, the browser's version. Never a secret."""
    labels: dict[str, str] = {}


class Executed(msgspec.Struct, frozen=True, kw_only=True):
    code: int
    out: bytes = b""
    err: bytes = b""
    cut: bool = False
    """Whether it said more than is kept."""
    timed_out: bool = False


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """A place as it was: where it is kept, and what was in it."""

    ref: str
    digest: str
    """Over the content that matters: two snapshots have the same exactly if nothing changed."""
    size_bytes: int = 0


class FileChanges(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which files of a place are others than before, by their whole paths, in their order."""

    added: list[str] = []
    changed: list[str] = []
    removed: list[str] = []
    more: int = 0
    """How many there are besides: no more than `FILES_TOLD_MAX` are named."""


class PlaceGone(Exception):
    """There is no such place any more; what was in it may be in a snapshot."""


class PlaceError(Exception):
    """The runtime refused, and says why; trying the same again seldom helps."""


class NoSuchFile(PlaceError):
    """There is nothing under that path."""


class RuntimeAway(Exception):
    """The runtime cannot be reached just now."""


class StalePlace(Exception):
    """Another holds the place by now."""


class SocketEnded(Exception):
    """The other side has hung up."""


class MessageSocket(Protocol):
    """A WebSocket of whatever library; both raise `SocketEnded` once it has ended."""

    async def send(self, message: str) -> None: ...

    async def recv(self) -> str | bytes: ...


OnOutput = Callable[[str, bytes], Awaitable[None]]
"""Is given what a command says while it runs: the stream, `out` or `err`, and a piece of it. The
command waits for it, and is ended if it raises."""


class EnvBackend(Protocol):
    kind: str
    """`container`, `browser`, ..."""

    async def capabilities(self) -> dict[str, Any]:
        """What the runtime is and can do, for people; `RuntimeAway` if it is not there."""
        ...

    def check(self, config: Config) -> list[str]:
        """What is wrong with a resource's config, each naming the field and the next move."""
        ...

    async def allocate(self, spec: PlaceSpec) -> Place: ...

    async def execute(
        self,
        name: str,
        epoch: int,
        command: Sequence[str],
        *,
        stdin: bytes = b"",
        workdir: str = "",
        env: Mapping[str, str] | None = None,
        timeout_s: float = 60.0,
        on_output: OnOutput | None = None,
    ) -> Executed:
        """Run a command to its end. Out of time it is ended; whoever stops waiting for it ends it
        as well. One that `still` ended is answered with `StalePlace`, whatever it said before. What
        it says is passed on as it comes, all of it, whatever is kept for the answer."""
        ...

    async def read(self, name: str, epoch: int, path: str) -> bytes:
        """A file, or `NoSuchFile`."""
        ...

    async def write(self, name: str, epoch: int, path: str, data: bytes) -> None:
        """Put a file there, whole; folders on the way to it are made."""
        ...

    async def snapshot(self, name: str, label: str) -> Snapshot:
        """Keep the place as it is. The same label replaces what it named before."""
        ...

    async def changes(self, name: str, since: str, label: str) -> FileChanges:
        """Which files are others in a snapshot of the place than in an earlier one, by the labels
        of both; `PlaceGone` where one of them is not kept."""
        ...

    async def restore(self, spec: PlaceSpec, snapshot: Snapshot) -> Place:
        """The place as it was, whatever has become of it."""
        ...

    async def inspect(self, name: str) -> str:
        """`running`, `stopped` or `gone`."""
        ...

    async def still(self, name: str, epoch: int) -> None:
        """From now on only this epoch and later ones count; whatever earlier ones began is ended,
        and the place with its content stays."""
        ...

    async def release(self, name: str) -> None:
        """Have the place and its snapshots gone."""
        ...

    async def list(self) -> list[Place]: ...

    async def close(self) -> None: ...


@runtime_checkable
class BrowserBackend(EnvBackend, Protocol):
    """What places that are browser sessions have besides."""

    async def serve(
        self, name: str, epoch: int, client: MessageSocket, revoked: asyncio.Event
    ) -> str:
        """Let a holder's DevTools client drive the browser, until it hangs up (`client`), the
        browser ends (`browser`) or the lease does (`revoked`); what reaches beyond the session is
        refused on the way."""
        ...

    async def screenshot(self, name: str) -> bytes:
        """The page in front, as PNG."""
        ...


OnLog = Callable[[str], Awaitable[None]]
"""Is given each line, without its end."""


class ImageBackend(Protocol):
    """Container images of one runtime."""

    async def capabilities(self) -> dict[str, Any]:
        """`dockerfile_build`, and the `reason` if there is none."""
        ...

    async def pull(self, ref: str) -> str:
        """Fetch an image, also if one of that name is there; returns its digest."""
        ...

    async def build(self, dockerfile: str, tag: str, on_log: OnLog) -> str:
        """Make an image; returns its digest. Whoever stops waiting gives it up."""
        ...

"""The environment of an attempt, as its handler sees it: a container or a browser of its own.

    done = ctx.env.exec(["python", "train.py"])
    ctx.env.exec("make", timeout_s=600, on_output=lambda stream, text: ctx.log(text))
    ctx.env.write("notes.txt", b"as far as page 3")
    with ctx.env.browser() as page:
        page.goto("https://example.org")

Everything goes through the server, which refuses it once the attempt has lost its lease, and writes
it into the ledger. In an async handler the calls go through a thread (`asyncio.to_thread`), and the
browser is entered with `async with`.
"""

import codecs
import itertools
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from windlass.model.errors import BadRequest
from windlass.protocol.envs import (
    EnvContent,
    EnvDoor,
    EnvExec,
    EnvExecuted,
    EnvMark,
    EnvRead,
    EnvSnapshotView,
    EnvWrite,
)
from windlass.worker.adapters.host.pages import BrowserPage
from windlass.worker.errors import PermanentError

EXEC_S = 60.0
HearBytes = Callable[[str, bytes], object]
OnOutput = Callable[[str, str], object]
"""Is given what a command says as it says it: the stream, `out` or `err`, and the text."""


class EnvDesk(Protocol):
    """Where environments are reached. Called from any thread; raises the errors of the model."""

    @property
    def server(self) -> str: ...

    def execute(self, call: EnvExec, hear: HearBytes | None = None) -> EnvExecuted: ...

    def fetch(self, read: EnvRead) -> EnvContent: ...

    def put(self, write: EnvWrite) -> None: ...

    def photograph(self, mark: EnvMark) -> EnvSnapshotView: ...

    def door(self, mark: EnvMark) -> EnvDoor: ...


class Ran(NamedTuple):
    """How a command ended, and what it said."""

    code: int
    out: str
    err: str
    cut: bool = False
    timed_out: bool = False


class _Texts:
    """Pieces of output as text, also where a character is cut in two."""

    def __init__(self, on_output: OnOutput) -> None:
        new = codecs.getincrementaldecoder("utf-8")
        self._on_output = on_output
        self._decoders = {stream: new(errors="replace") for stream in ("out", "err")}

    def hear(self, stream: str, data: bytes) -> None:
        if text := self._decoders[stream].decode(data):
            self._on_output(stream, text)


class Env:
    """The place an attempt is done in."""

    def __init__(
        self, desk: EnvDesk, attempt_id: str, token: str | int, told: dict[str, Any]
    ) -> None:
        self._desk = desk
        self._who = {"attempt_id": attempt_id, "token": token}
        self._calls = itertools.count(1)
        self.session_id: str = told.get("session_id", "")
        self.kind: str = told.get("kind", "")
        self.resource: str = told.get("resource_name", "")
        self.epoch: int = told.get("lease_epoch", 0)
        """Grows each time another attempt goes on in the same place."""
        self.details: dict[str, Any] = told.get("details") or {}

    def exec(
        self,
        command: list[str] | str,
        *,
        stdin: bytes = b"",
        workdir: str = "",
        env: dict[str, str] | None = None,
        timeout_s: float = EXEC_S,
        on_output: OnOutput | None = None,
    ) -> Ran:
        """Run a command to its end; a text is given to a shell. `on_output` hears what it says
        while it runs, all of it; what it raises ends the command."""
        words = ["sh", "-c", command] if isinstance(command, str) else command
        call = EnvExec(
            **self._next(),
            command=words,
            stdin=stdin,
            workdir=workdir,
            env=env or {},
            timeout_s=timeout_s,
        )
        done = self._desk.execute(call, _Texts(on_output).hear if on_output else None)
        out, err = done.out.decode(errors="replace"), done.err.decode(errors="replace")
        return Ran(done.code, out, err, done.cut, done.timed_out)

    def read(self, path: str) -> bytes:
        """A file; `NotFound` if there is none."""
        return self._desk.fetch(EnvRead(**self._next(), path=path)).data

    def write(self, path: str, data: bytes | str) -> None:
        content = data.encode() if isinstance(data, str) else data
        self._desk.put(EnvWrite(**self._next(), path=path, data=content))

    def snapshot(self) -> EnvSnapshotView:
        """Keep the place as it is, and learn what is in it: its digest."""
        return self._desk.photograph(EnvMark(**self._next()))

    def endpoint(self) -> str:
        """Where a browser speaks Chrome's DevTools protocol, while the lease lasts."""
        if self.kind != "browser":
            raise BadRequest(f"this environment is a {self.kind}; only a browser has an endpoint")
        door = self._desk.door(EnvMark(**self._next()))
        return "ws" + self._desk.server.rstrip("/").removeprefix("http") + door.path

    def browser(self) -> BrowserPage:
        """The browser's page, for `with` or `async with`; needs Playwright."""
        return BrowserPage(self.endpoint, PermanentError)

    def _next(self) -> dict[str, Any]:
        return {**self._who, "call_id": f"env-{next(self._calls)}"}

"""The environment of a call, as a package's handler uses it; its worker does what is asked.

Methods wait for their answer, so they belong in plain functions, which have a thread of their own;
a coroutine calls them with `await asyncio.to_thread(ctx.env.exec, "make")`.
"""

import base64
import contextlib
from collections.abc import Callable
from typing import Any, NamedTuple

from windlass.worker.adapters.host.pages import BrowserPage

EXEC_S = 60.0

OnOutput = Callable[[str, str], object]
"""Is given what a command says as it says it: the stream, `out` or `err`, and the text."""
AskEnv = Callable[[str, dict[str, Any]], Any]


class EnvError(RuntimeError):
    """What was asked of the environment was not done; the message says why."""


class Ran(NamedTuple):
    """How a command ended, and what it said."""

    code: int
    out: str
    err: str
    cut: bool = False
    timed_out: bool = False


class Env:
    """The place a call is done in."""

    def __init__(self, ask: AskEnv, told: dict[str, Any]) -> None:
        self._ask = ask
        self.session_id: str = told["session_id"]
        self.kind: str = told["kind"]
        self.resource: str = told["resource_name"]
        self.epoch: int = told["lease_epoch"]
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
        fields = {
            "command": command,
            "stdin": _packed(stdin),
            "workdir": workdir,
            "env": env or {},
            "timeout_s": timeout_s,
        }
        if on_output is None:
            return Ran(*self._ask("exec", fields))
        number = {"number": self._ask("exec_begin", fields)}
        try:
            while True:
                heard = self._ask("exec_next", number)
                for stream, text in heard["said"]:
                    on_output(stream, text)
                if "done" in heard:
                    return Ran(*heard["done"])
        except BaseException:
            with contextlib.suppress(EnvError):
                self._ask("exec_end", number)
            raise

    def read(self, path: str) -> bytes:
        """A file."""
        return base64.b64decode(self._ask("read", {"path": path}))

    def write(self, path: str, data: bytes | str) -> None:
        content = data.encode() if isinstance(data, str) else data
        self._ask("write", {"path": path, "data": _packed(content)})

    def snapshot(self) -> dict[str, Any]:
        """Keep the place as it is, and learn what is in it: its digest."""
        found: dict[str, Any] = self._ask("snapshot", {})
        return found

    def endpoint(self) -> str:
        """Where a browser speaks Chrome's DevTools protocol, while the lease lasts."""
        return str(self._ask("endpoint", {}))

    def browser(self) -> BrowserPage:
        """The browser's page, for `with` or `async with`; needs Playwright."""
        return BrowserPage(self.endpoint, EnvError)


def _packed(data: bytes) -> str:
    return base64.b64encode(data).decode()

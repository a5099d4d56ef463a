"""A command in an environment that a package's handler listens to, asking for piece after piece."""

import queue
import threading
from collections.abc import Callable
from typing import Any

from windlass.model.errors import WindlassError
from windlass.worker.envs import OnOutput, Ran
from windlass.worker.errors import PermanentError

_WAITING_MAX = 16
_PATIENCE_S = 60.0
"""A handler that does not ask for so long has gone, and its command goes as well."""


class Listening:
    """One command, in a thread of its own; it waits while nobody asks what it said."""

    def __init__(self, run: Callable[[OnOutput], Ran]) -> None:
        self._said: queue.Queue[list[str] | Ran | Exception] = queue.Queue(_WAITING_MAX)
        self._unwanted = threading.Event()
        self._run = run
        threading.Thread(target=self._work, name="env-listening", daemon=True).start()

    def next(self) -> dict[str, Any]:
        """What it said since the last time, once there is something; at last how it ended."""
        said: list[list[str]] = []
        found = self._said.get()
        while isinstance(found, list):
            said.append(found)
            if self._said.empty():
                return {"said": said}
            found = self._said.get()
        if isinstance(found, Exception):
            raise found
        return {"said": said, "done": list(found)}

    def end(self) -> None:
        """Nobody wants it any more."""
        self._unwanted.set()

    def _work(self) -> None:
        try:
            last: Ran | Exception = self._run(self._hear)
        except (WindlassError, PermanentError, _Unwanted) as error:
            last = error
        if not self._unwanted.is_set():
            self._said.put(last)

    def _hear(self, stream: str, text: str) -> None:
        try:
            self._said.put([stream, text], timeout=_PATIENCE_S)
        except queue.Full:
            self._unwanted.set()
        if self._unwanted.is_set():
            raise _Unwanted


class _Unwanted(Exception):
    """Ends a command that nobody listens to."""

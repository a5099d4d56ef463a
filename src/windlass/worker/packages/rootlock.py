"""Keeps two workers from changing one folder of packages at the same time."""

import contextlib
import fcntl
import os
import threading
import time
from collections.abc import Generator
from pathlib import Path

from windlass.protocol.packages.errors import UNAVAILABLE, PackageError

NAME = ".lock"
_POLL_S = 0.05


class RootLock:
    """A lock on a file: among processes one holds it, within it any number of installations."""

    def __init__(self, root: Path) -> None:
        self._path = root / NAME
        self._mutex = threading.Lock()
        self._holders = 0
        self._number = -1

    @contextlib.contextmanager
    def held(self, timeout_s: float) -> Generator[None]:
        """Hold it; PackageError if another process does not let go in time."""
        end = time.monotonic() + timeout_s
        while not self._take():
            if time.monotonic() >= end:
                text = f"another worker is changing {self._path.parent}; try again later"
                raise PackageError(UNAVAILABLE, text)
            time.sleep(_POLL_S)
        try:
            yield
        finally:
            self._give()

    def _take(self) -> bool:
        with self._mutex:
            if not self._holders:
                self._number = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
                try:
                    fcntl.flock(self._number, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    os.close(self._number)
                    return False
            self._holders += 1
            return True

    def _give(self) -> None:
        with self._mutex:
            self._holders -= 1
            if not self._holders:
                os.close(self._number)

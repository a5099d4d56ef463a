"""A Chromium process that outlives whoever started it, and is found again by its profile.

A process counts as the one of a profile only if its command line names that profile; no other is
ever ended, whatever number was written down. Everything here blocks, and is called in a thread.
"""

import contextlib
import fcntl
import os
import select
import shutil
import signal
import socket
import time
from collections.abc import Generator, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from windlass.drivers.env import netns
from windlass.ports.env import PlaceError

_START_S = 30.0
_END_S = 10.0
_POLL_S = 0.01
_LAST_WORDS = 1_000


class BrowserProcess:
    """The browser of one folder, whether it runs or not."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.profile = folder / "profile"
        self._pid_file = folder / "pid"
        self._log = folder / "log"

    @contextlib.contextmanager
    def turn(self) -> Generator[None]:
        """Nobody else starts or ends it meanwhile, in whichever process."""
        with (self._folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def endpoint(self) -> str:
        """Where it answers; nothing if it does not run."""
        pid = self.pid()
        if pid == 0:
            return ""
        try:
            port, path = (self.profile / "DevToolsActivePort").read_text().split()
        except (OSError, ValueError):
            return ""
        # In a network of its own it is reached through that: see `open_socket`.
        apart = f"{pid}@" if netns.is_apart(pid) else ""
        return f"ws://{apart}127.0.0.1:{int(port)}{path}"

    def pid(self) -> int:
        """Its number, or 0. Chromium writes it down as well, should we not have come to it."""
        for pid in self._written():
            _reap(pid)
            if self._is_ours(pid):
                return pid
        return 0

    def start(self, command: Sequence[str], env: dict[str, str], *, apart: bool = False) -> None:
        """Start it and wait until it answers; `apart` in a network of its own."""
        self._clear()
        null = (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)
        log = (os.POSIX_SPAWN_OPEN, 1, str(self._log), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        both = (os.POSIX_SPAWN_DUP2, 1, 2)

        def spawn() -> int:
            # A session of its own, so that a signal to our terminal or group does not reach it.
            return os.posix_spawn(
                command[0], list(command), env, file_actions=(null, log, both), setsid=True
            )

        try:
            pid = netns.apart(spawn) if apart else spawn()
        except PermissionError as error:
            text = "a browser without network needs a server or host that runs as root"
            raise PlaceError(f"{text}: {error.strerror}") from error
        except OSError as error:
            raise PlaceError(f"{command[0]} cannot be started: {error.strerror}") from error
        self._pid_file.write_text(str(pid))
        deadline = time.monotonic() + _START_S
        while not _answers(self.endpoint()):
            if self.pid() == 0 and _has_ended(pid):
                raise PlaceError(f"the browser ended as it started; it said: {self._last_words()}")
            if time.monotonic() > deadline:
                self.end()
                raise PlaceError(f"the browser did not answer within {_START_S:.0f} s")
            time.sleep(_POLL_S)

    def end(self) -> None:
        """End it with its parts at once, and wait until they are gone."""
        pid = self.pid()
        if pid:
            with contextlib.ExitStack() as opened:
                browser = _open(pid, opened)
                parts = [_open(part, opened) for part in _session(pid)]
                # Asked again: by now the number may be somebody else's, the handle stays with one.
                if self._is_ours(pid):
                    for handle in (browser, *parts):
                        _kill(handle)
            _reap(pid)
        self._clear()

    def _clear(self) -> None:
        """Remove what an ended browser left, and the next would trip over."""
        with contextlib.suppress(OSError):
            shared = (self.profile / "SingletonSocket").readlink().parent
            if shared.name.startswith("org.chromium.Chromium."):
                shutil.rmtree(shared, ignore_errors=True)
        for name in ("DevToolsActivePort", "SingletonLock", "SingletonSocket", "SingletonCookie"):
            (self.profile / name).unlink(missing_ok=True)

    def _written(self) -> list[int]:
        found: list[int] = []
        with contextlib.suppress(OSError, ValueError):
            found.append(int(self._pid_file.read_text()))
        with contextlib.suppress(OSError, ValueError):
            lock = str((self.profile / "SingletonLock").readlink())
            found.append(int(lock.rpartition("-")[2]))
        return found

    def _is_ours(self, pid: int) -> bool:
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            return False
        # A part of a browser names the profile as well, and says that it is a part.
        parts = any(word.startswith("--type=") for word in words)
        return f"--user-data-dir={self.profile}" in words and not parts

    def _last_words(self) -> str:
        try:
            return self._log.read_text(errors="replace")[-_LAST_WORDS:].strip()
        except OSError:
            return ""


def _answers(endpoint: str) -> bool:
    if not endpoint:
        return False
    try:
        with connection_to(endpoint):
            return True
    except OSError:
        return False


def connection_to(endpoint: str) -> socket.socket:
    """A connection to a browser's DevTools."""
    parts = urlsplit(endpoint)
    assert parts.port is not None, "a browser's address has a port"
    if parts.username:
        return netns.connected(int(parts.username), parts.port)
    return socket.create_connection(("127.0.0.1", parts.port), timeout=1)


def _has_ended(pid: int) -> bool:
    _reap(pid)
    return not Path(f"/proc/{pid}").exists()


def _reap(pid: int) -> None:
    """A child that ended stays as a zombie until its parent has looked; others are not ours."""
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def _session(leader: int) -> list[int]:
    """All processes of the session that a process leads, but for itself."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != leader:
            with contextlib.suppress(OSError):
                if os.getsid(int(entry.name)) == leader:
                    found.append(int(entry.name))
    return found


def _open(pid: int, opened: contextlib.ExitStack) -> int | None:
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return None
    opened.callback(os.close, handle)
    return handle


def _kill(handle: int | None) -> None:
    if handle is not None:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(handle, signal.SIGKILL)
            select.select([handle], [], [], _END_S)

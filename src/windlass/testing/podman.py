"""A real container runtime for tests: podman with storage of its own, serving Docker's API.

It needs no network: its one image, `IMAGE`, is busybox, packed on the spot. All of it is gone when
the context manager ends, also what tests left running.
"""

import contextlib
import io
import os
import shutil
import socket
import subprocess
import tarfile
import time
from collections.abc import Generator, Sequence
from functools import partial
from pathlib import Path

import psutil

from windlass.testing.servers import Server, ServerError, folder, running

IMAGE = "localhost/windlass-test/busybox:1"
_PROGRAMS = ("podman", "runc", "busybox")
_CLEAR_S = 10.0
_POLL_S = 0.02
_CONFIG = """\
[containers]
default_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "none"
"""
_FOLDERS = {"bin": 0o755, "dev": 0o755, "etc": 0o755, "proc": 0o755, "sys": 0o755, "tmp": 0o1777}
_ETC = {"passwd": "root:x:0:0::/:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n", "motd": "hello\n"}


class PodmanServer(Server):
    """`podman system service` on a unix socket."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        config = directory / "containers.conf"
        config.write_text(_CONFIG)
        own = {"CONTAINERS_CONF": str(config), "TMPDIR": str(directory)}
        self._env = {**os.environ, **own}
        places = ["--root", str(directory / "storage"), "--runroot", str(directory / "run")]
        self._podman = ["podman", *places, "--tmpdir", str(directory / "tmp")]
        self.socket = directory / "api.sock"
        self.url = f"unix://{self.socket}"
        command = [*self._podman, "system", "service", "--time=0", self.url]
        env = ["env", *(f"{name}={value}" for name, value in own.items())]
        super().__init__([*env, *command], directory, 0, partial(_pings, self.socket))

    def run(self, *command: str, given: bytes = b"") -> str:
        """Do something with podman's own command, beside whoever uses the API."""
        asked = [*self._podman, *command]
        done = subprocess.run(asked, input=given, capture_output=True, env=self._env, check=False)
        if done.returncode != 0:
            raise ServerError(f"podman {' '.join(command)}: {done.stderr.decode().strip()}")
        return done.stdout.decode().strip()

    def clear(self) -> None:
        """Have nothing run or mounted below the folder any more."""
        with contextlib.suppress(ServerError):
            self.run("rm", "--all", "--force", "--time", "0")
        # What watched a command stays for minutes, and then mounts things anew to tidy up.
        deadline = time.monotonic() + _CLEAR_S
        while self._end_watchers() and time.monotonic() < deadline:
            time.sleep(_POLL_S)
        mounts = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
        for mount in sorted(mounts, reverse=True):
            if mount.startswith(f"{self._directory}/"):
                subprocess.run(["umount", "-l", mount], capture_output=True, check=False)

    def _end_watchers(self) -> bool:
        """End whatever names this podman's folder; tells whether there was anything."""
        found = False
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                words = process.cmdline()
                named = bool(words) and Path(words[0]).name in ("conmon", "podman")
                if named and any(str(self._directory) in word for word in words):
                    process.kill()
                    found = True
        return found


@contextlib.contextmanager
def podman() -> Generator[PodmanServer]:
    """A running podman that has `IMAGE`."""
    with folder() as directory, contextlib.ExitStack() as stack:
        server = PodmanServer(directory)
        stack.callback(server.clear)
        server.run("import", "--change", 'CMD ["sh"]', "-", IMAGE, given=_image())
        yield stack.enter_context(running(server))


def missing() -> str:
    """What must be installed before there can be a runtime, in a line for people; or nothing."""
    lacking = [name for name in _PROGRAMS if shutil.which(name, path=_path()) is None]
    if not lacking:
        return ""
    return (
        f"{', '.join(lacking)} missing; container tests need it: run `make setup-tests` as root, "
        "or have 'apt-get install podman runc busybox-static uidmap' run"
    )


def _path() -> str:
    return os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/sbin"))


def _image() -> bytes:
    """A root folder with busybox and a name for each of its commands."""
    busybox = shutil.which("busybox")
    assert busybox is not None, missing()
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, mode in _FOLDERS.items():
            archive.addfile(_entry(name, tarfile.DIRTYPE, mode))
        _add(archive, "bin/busybox", Path(busybox).read_bytes(), 0o755)
        for name in _lines(["busybox", "--list"]):
            link = _entry(f"bin/{name}", tarfile.SYMTYPE, 0o777)
            link.linkname = "busybox"
            if name != "busybox":
                archive.addfile(link)
        for name, text in _ETC.items():
            _add(archive, f"etc/{name}", text.encode(), 0o644)
    return packed.getvalue()


def _entry(name: str, kind: bytes, mode: int) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type, entry.mode = kind, mode
    return entry


def _add(archive: tarfile.TarFile, name: str, data: bytes, mode: int) -> None:
    entry = _entry(name, tarfile.REGTYPE, mode)
    entry.size = len(data)
    archive.addfile(entry, io.BytesIO(data))


def _lines(command: Sequence[str]) -> list[str]:
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.split()


def _pings(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as asking:
        asking.settimeout(2)
        try:
            asking.connect(str(path))
            asking.sendall(b"GET /_ping HTTP/1.0\r\nHost: runtime\r\n\r\n")
            return b" 200 " in asking.recv(64)
        except OSError:
            return False

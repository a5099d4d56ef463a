"""Windlass's own processes, started for tests, benchmarks and chaos: servers and workers."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

from windlass.client.tls import http_tls
from windlass.testing.loopback import free_port

_START_S = 30.0
_STOP_S = 20.0


class Process:
    """A `windlass` command that can be killed, paused and started again."""

    def __init__(self, *args: str, env: Mapping[str, str] | None = None, log: Path | None = None):
        self.args = [sys.executable, "-m", "windlass", *args]
        self._env = {**os.environ, **(env or {})}
        self._log = log
        self._popen: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with contextlib.ExitStack() as stack:
            out: Any = subprocess.DEVNULL
            if self._log is not None:
                out = stack.enter_context(self._log.open("ab"))
            self._popen = subprocess.Popen(
                self.args, env=self._env, stdout=out, stderr=out, stdin=subprocess.DEVNULL
            )

    @property
    def pid(self) -> int:
        assert self._popen is not None, "not started"
        return self._popen.pid

    @property
    def alive(self) -> bool:
        return self._popen is not None and self._popen.poll() is None

    def signal(self, number: int) -> None:
        assert self._popen is not None, "not started"
        self._popen.send_signal(number)

    def kill(self) -> None:
        """kill -9, as a crash would."""
        if self.alive:
            self.signal(signal.SIGKILL)
            self.wait()

    def stop(self) -> int:
        """SIGTERM, and -9 for one that does not heed it."""
        if self.alive:
            self.signal(signal.SIGTERM)
        try:
            return self.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise

    def wait(self, timeout_s: float | None = None) -> int:
        assert self._popen is not None, "not started"
        return self._popen.wait(timeout_s)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.alive:
            self.signal(signal.SIGCONT)
            self.stop()


class ServerProcess(Process):
    """`windlass server` on a free loopback port, the same after a restart."""

    def __init__(
        self,
        db: str,
        *args: str,
        port: int = 0,
        env: Mapping[str, str] | None = None,
        log: Path | None = None,
    ) -> None:
        self.port = port or free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        command = ("server", "--db", db, "--port", str(self.port), "--quiet", *args)
        super().__init__(*command, env=env, log=log)

    def start(self) -> None:
        super().start()
        deadline = time.monotonic() + _START_S
        with httpx.Client(base_url=self.url, timeout=2, verify=http_tls(self.url)) as http:
            while time.monotonic() < deadline:
                with contextlib.suppress(httpx.HTTPError):
                    if http.get("/readyz").status_code == 200:
                        return
                if not self.alive:
                    raise RuntimeError(f"the server ended with {self.wait()}; args {self.args}")
                time.sleep(0.02)
        raise RuntimeError("the server did not become ready")


def worker_process(
    target: str,
    server_url: str,
    mode: str,
    *args: str,
    token: str = "",
    path: Sequence[Path] = (),
    env: Mapping[str, str] | None = None,
    log: Path | None = None,
) -> Process:
    """`windlass worker` for a target, with extra folders to import from."""
    env = {**(env or {}), **({"WINDLASS_TOKEN": token} if token else {})}
    if path:
        env["PYTHONPATH"] = os.pathsep.join(map(str, path))
    return Process(
        "worker", target, "--server", server_url, "--mode", mode, *args, env=env, log=log
    )


def wait_until(check: Any, timeout_s: float = 30.0, every_s: float = 0.02) -> Any:
    """Ask until the answer is true; for processes, which emit no signal we could wait on."""
    deadline = time.monotonic() + timeout_s
    while True:
        answer = check()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {timeout_s} s in vain")
        time.sleep(every_s)


@contextlib.contextmanager
def started(*processes: Process) -> Generator[None]:
    """Several processes, stopped in reverse."""
    with contextlib.ExitStack() as stack:
        for process in processes:
            stack.enter_context(process)
        yield

"""Runs programs that are not ours: bounded in time, in a group of their own, ended as a whole."""

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from windlass.protocol.packages.errors import FAILED, PackageError

TAIL_BYTES = 16 * 1024
OUTPUT_BYTES_MAX = 4 << 20
_POLL_S = 0.05


class Interrupted(PackageError):
    """Whoever wanted the work does not any more."""

    def __init__(self) -> None:
        super().__init__(FAILED, "the work was called off")


def run(
    command: Sequence[str],
    *,
    what: str,
    timeout_s: float,
    cwd: Path,
    env: Mapping[str, str],
    stop: threading.Event,
    given: bytes = b"",
) -> bytes:
    """Run a program to its end and give its output; PackageError if it fails, or takes too long.

    Whatever it started goes with it, also when it ends well: nothing of an installation stays.
    """
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env=dict(env),
            start_new_session=True,
        )
    except OSError as error:
        raise PackageError(FAILED, f"{what} cannot be run: {error}") from error
    assert process.stdout is not None
    assert process.stderr is not None
    out, err = _Reader(process.stdout, OUTPUT_BYTES_MAX), _Reader(process.stderr, TAIL_BYTES)
    try:
        _feed(process, given)
        _wait(process, what, timeout_s, stop)
    finally:
        _end_group(process)
        out.join()
        err.join()
    if process.returncode:
        tail = (err.tail or out.tail)[-TAIL_BYTES:].decode(errors="replace").strip()
        raise PackageError(FAILED, f"{what} failed with code {process.returncode}:\n{tail}")
    return out.tail


class _Reader(threading.Thread):
    """Reads a stream to its end, so that nobody blocks on it, and keeps the last part."""

    def __init__(self, stream: IO[bytes], most: int) -> None:
        super().__init__(daemon=True)
        self.tail = b""
        self._stream = stream
        self._most = most
        self.start()

    def run(self) -> None:
        with self._stream as stream, contextlib.suppress(ValueError, OSError):
            while chunk := os.read(stream.fileno(), 64 * 1024):
                self.tail = (self.tail + chunk)[-self._most :]


def _feed(process: subprocess.Popen[bytes], given: bytes) -> None:
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError), process.stdin as stdin:
        stdin.write(given)


def _wait(
    process: subprocess.Popen[bytes], what: str, timeout_s: float, stop: threading.Event
) -> None:
    end = time.monotonic() + timeout_s
    while process.poll() is None:
        if stop.wait(_POLL_S):
            raise Interrupted
        if time.monotonic() >= end:
            raise PackageError(FAILED, f"{what} took more than {timeout_s:g} s and was ended")


def _end_group(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()

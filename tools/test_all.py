"""Runs every test: what only computes beside what waits, then what wants the machine alone.

Tests of processes mostly wait, for leases to run out or for servers to start; unit, property and
conformance tests and the hunts of planted faults mostly compute. Side by side they keep two cores
busy, and what computes gives way. Whatever looks at how long something takes is marked `alone`; it,
chaos and benchmarks have the machine for themselves. Tests with a browser are a run of their own:
its driver keeps an event loop in its process, which no other asynchronous test can bear.
"""

import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from typing import IO

COMPUTING = ("tests/unit", "tests/property", "tests/migration", "tests/conformance")
HUNTING = ("tests/faults",)
WAITING = ("tests/integration",)
MEASURING = ("tests/chaos", "tests/bench")
LOOKING = ("tests/browser",)

BESIDE = ("-m", "not alone")
ALONE = ("-m", "alone")
TWO_FILES = ("-n", "2", "--dist", "loadfile")
GIVE_WAY = ("nice", "-n", "10")


def pytest(*args: str, said: IO[bytes] | None = None) -> int:
    """How some tests went; told as they go, or in a file for later."""
    command = [*(GIVE_WAY if said else ()), sys.executable, "-m", "pytest", *args]
    err = subprocess.STDOUT if said else None
    return subprocess.run(command, stdout=said, stderr=err, check=False).returncode


def side_by_side() -> Sequence[int]:
    """What computes in a lane of its own, beside what waits."""
    codes: list[int] = []
    with tempfile.TemporaryFile() as said:

        def compute() -> None:
            codes.append(pytest(*COMPUTING, *BESIDE, *TWO_FILES, said=said))
            codes.append(pytest(*HUNTING, said=said))

        computing = threading.Thread(target=compute)
        computing.start()
        codes.append(pytest(*WAITING, *BESIDE, *TWO_FILES))
        computing.join()
        said.seek(0)
        sys.stdout.buffer.write(said.read())
        sys.stdout.flush()
    return codes


def main() -> int:
    codes = [*side_by_side()]
    codes.append(pytest(*COMPUTING, *WAITING, *ALONE))
    codes.append(pytest(*MEASURING))
    codes.append(pytest(*LOOKING, *BESIDE, *TWO_FILES))
    codes.append(pytest(*LOOKING, *ALONE))
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())

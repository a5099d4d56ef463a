"""Runs every test: what only computes beside what waits, then what wants the machine alone.

Tests of processes mostly wait, for leases to run out or for servers to start; unit, property and
conformance tests and the hunts of planted faults mostly compute. Side by side they keep two cores
busy, and what computes gives way. Whatever looks at how long something takes is marked `alone`; it,
chaos and benchmarks have the machine for themselves. Tests with a browser are a run of their own:
its driver keeps an event loop in its process, which no other asynchronous test can bear.

A test of real processes can fail because the machine stood still for a moment. A few failures are
therefore run once more at the end, one after the other; what passes only then is named in the last
lines, because it may also be a race of ours. What fails by its seed or its example fails again.
"""

import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
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

SECOND_CHANCES_MAX = 6
"""More failures than this are not the machine's; they count at once."""


@dataclass(frozen=True, slots=True)
class Lane:
    """Tests that run in one process of pytest, and where that remembers which failed."""

    memory: Path
    tests: Sequence[str]
    marks: Sequence[str] = ()

    def run(self, *how: str, said: IO[bytes] | None = None) -> int:
        """How they went; told as they go, or in a file for later."""
        command = [*(GIVE_WAY if said else ()), sys.executable, "-m", "pytest"]
        command += ["-o", f"cache_dir={self.memory}", *self.tests, *self.marks, *how]
        err = subprocess.STDOUT if said else None
        return subprocess.run(command, stdout=said, stderr=err, check=False).returncode

    def failed(self) -> Sequence[str]:
        found = self.memory / "v" / "cache" / "lastfailed"
        return sorted(json.loads(found.read_text())) if found.exists() else []


def side_by_side(computing: Lane, hunting: Lane, waiting: Lane) -> dict[Lane, int]:
    """What computes, one after the other, beside what waits."""
    codes: dict[Lane, int] = {}
    with tempfile.TemporaryFile() as said:

        def compute() -> None:
            codes[computing] = computing.run(*TWO_FILES, said=said)
            codes[hunting] = hunting.run(said=said)

        thread = threading.Thread(target=compute)
        thread.start()
        codes[waiting] = waiting.run(*TWO_FILES)
        thread.join()
        said.seek(0)
        sys.stdout.buffer.write(said.read())
        sys.stdout.flush()
    return codes


def again(codes: dict[Lane, int]) -> int:
    """The whole's exit code, once the few that failed have had their second chance."""
    failed = {lane: lane.failed() for lane, code in codes.items() if code}
    first = sorted(test for tests in failed.values() for test in tests)
    told = all(failed.values())  # a lane that failed without naming a test broke down
    if not first or not told or len(first) > SECOND_CHANCES_MAX:
        return max(codes.values())
    print(f"\nRun again, alone: {len(first)} that failed", flush=True)
    code = max([lane.run("--last-failed", "--last-failed-no-failures", "none") for lane in failed])
    still = {test for lane in failed for test in lane.failed()}
    for test in first:
        print(f"{'failed twice' if test in still else 'PASSED ONLY WHEN RUN AGAIN'}: {test}")
    return code


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        beside = Lane(folder / "computing", COMPUTING, BESIDE)
        waiting = Lane(folder / "waiting", WAITING, BESIDE)
        codes = side_by_side(beside, Lane(folder / "hunting", HUNTING), waiting)
        alone = Lane(folder / "alone", (*COMPUTING, *WAITING), ALONE)
        measuring = Lane(folder / "measuring", MEASURING)
        codes |= {lane: lane.run() for lane in (alone, measuring)}
        looking = Lane(folder / "looking", LOOKING, BESIDE)
        codes[looking] = looking.run(*TWO_FILES)
        looking_alone = Lane(folder / "looking-alone", LOOKING, ALONE)
        codes[looking_alone] = looking_alone.run()
        return again(codes)


if __name__ == "__main__":
    sys.exit(main())

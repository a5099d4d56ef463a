"""Keeps the sources of a landed release for the test that upgrades from it.

`python tools/previous_release.py COMMIT` writes `tests/migration/previous.tar.xz`. Do it when a
release is out, and let `OLDEST` in `windlass.drivers.sql.migrate` be its schema.
"""

import lzma
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "tests" / "migration" / "previous.tar.xz"


def main(commit: str) -> None:
    command = ["git", "archive", commit, "--", "src/windlass", ":!src/windlass/testing"]
    archive = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout
    KEPT.write_bytes(lzma.compress(archive, preset=9))
    print(f"{KEPT.relative_to(ROOT)}: {KEPT.stat().st_size} bytes of {commit}")


if __name__ == "__main__":
    main(sys.argv[1])

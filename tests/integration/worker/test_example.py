"""examples/hello runs as its README says."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

HELLO = Path(__file__).parents[3] / "examples" / "hello"
WINDLASS = [sys.executable, "-m", "windlass"]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    command = [*WINDLASS, "dev", "--no-example", "--port", "0", "--db", str(tmp_path / "dev.db")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        for line in process.stdout:
            if found := re.search(r"Open\s+(http://\S+)", line):
                yield found[1]
                break
        else:
            pytest.fail("windlass dev ended before it was ready")
    finally:
        process.terminate()
        process.communicate(timeout=20)


def test_hello_runs_as_its_readme_says(server: str) -> None:
    env = {**os.environ, "WINDLASS_URL": server}
    worker = subprocess.Popen([*WINDLASS, "worker", "services:worker"], cwd=HELLO, env=env)
    try:
        done = subprocess.run(
            [sys.executable, "run.py"],
            cwd=HELLO,
            env=env,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    finally:
        worker.terminate()
        assert worker.wait(20) == 0
    assert done.returncode == 0, done.stderr
    assert "checkpoint.answered" in done.stdout
    assert "'result': {'sent': 3}" in done.stdout

"""What `windlass init` writes runs as its README says."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

WINDLASS = [sys.executable, "-m", "windlass"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    subprocess.run([*WINDLASS, "init", str(folder)], check=True, capture_output=True)
    return folder


@pytest.fixture
def env(project: Path) -> Iterator[dict[str, str]]:
    command = [*WINDLASS, "dev", "--port", "0"]
    process = subprocess.Popen(command, cwd=project, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        for line in process.stdout:
            if found := re.search(r"Open\s+(http://\S+)", line):
                yield {**os.environ, "WINDLASS_URL": found[1]}
                break
        else:
            pytest.fail("windlass dev ended before it was ready")
    finally:
        process.terminate()
        process.communicate(timeout=20)


@pytest.fixture
def worker(project: Path, env: dict[str, str]) -> Iterator[None]:
    process = subprocess.Popen([*WINDLASS, "worker", "worker"], cwd=project, env=env)
    yield
    process.terminate()
    assert process.wait(20) == 0


@pytest.mark.usefixtures("worker")
def test_a_new_project_runs_to_its_end(project: Path, env: dict[str, str]) -> None:
    def windlass(*args: str) -> tuple[int, str, str]:
        done = subprocess.run(
            [*WINDLASS, *args],
            cwd=project,
            env=env,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    def watch(names: str) -> "subprocess.Popen[str]":
        command = [*WINDLASS, "run", "start", "greet", "-p", f"names:={names}", "--watch"]
        return subprocess.Popen(
            command,
            cwd=project,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    assert windlass("flow", "push", "greet.yaml")[0] == 0
    with watch('["Ada", ""]') as failing:
        assert "nobody to greet" in failing.communicate(timeout=30)[0]
    assert failing.returncode == 1
    with watch('["Ada", "Grace"]') as watching:
        assert watching.stdout is not None
        greeted = 0
        while greeted < 2:
            greeted += "\tattempt.succeeded\t" in watching.stdout.readline()
        assert windlass("inbox", "approve", "@last")[0] == 0
        watching.communicate(timeout=30)
    assert watching.returncode == 0
    assert '"sent":2' in windlass("run", "show", "@last")[1]
    assert "greeting Grace, attempt 1" in windlass("run", "logs", "@last")[1]

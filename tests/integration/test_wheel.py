"""What is built: the same bytes each time, with the web UI, and it works where nothing else is."""

import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from windlass.testing.loopback import free_port
from windlass.testing.processes import wait_until

ROOT = Path(__file__).parents[2]
TIMER = '{"start": "a", "nodes": {"a": {"kind": "timer", "params": {"delay_ms": 1}}}}'


def build(source: Path, target: Path) -> dict[str, Path]:
    """The wheel and the sdist of a source tree, by the ends of their names."""
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(target)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    made = {path.suffix: path for path in target.iterdir()}
    assert set(made) == {".whl", ".gz"}
    return made


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return build(ROOT, tmp_path_factory.mktemp("built"))


def test_the_same_source_gives_the_same_bytes(built: dict[str, Path], tmp_path: Path) -> None:
    again = build(ROOT, tmp_path / "again")
    with tarfile.open(built[".gz"]) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    [unpacked] = (tmp_path / "unpacked").iterdir()
    from_sdist = build(unpacked, tmp_path / "from-sdist")
    for kind, path in built.items():
        assert again[kind].read_bytes() == path.read_bytes(), kind
    assert from_sdist[".whl"].read_bytes() == built[".whl"].read_bytes()


@pytest.mark.skipif(
    not (ROOT / "src/windlass/server/ui_dist/index.html").exists(),
    reason="the web UI was not built here; make ui does",
)
def test_the_web_ui_is_inside(built: dict[str, Path]) -> None:
    inside = "windlass/server/ui_dist/index.html"
    assert inside in zipfile.ZipFile(built[".whl"]).namelist()
    with tarfile.open(built[".gz"]) as archive:
        assert any(name.endswith(f"src/{inside}") for name in archive.getnames())


def test_what_tests_a_checkout_is_not_inside(built: dict[str, Path]) -> None:
    names = zipfile.ZipFile(built[".whl"]).namelist()
    testing = {name.split("/")[2] for name in names if name.startswith("windlass/testing/")}
    ours = {"__init__.py", "local.py", "loopback.py", "memory", "models"}
    assert testing == ours | {"scripted.py", "threaded.py"}


@pytest.fixture(scope="module")
def installed(built: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment that has the wheel and what it asks for, and nothing else."""
    folder = tmp_path_factory.mktemp("clean") / "venv"
    uv = shutil.which("uv") or str(ROOT / ".bootstrap" / "bin" / "uv")
    python = folder / "bin" / "python"
    subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, str(folder)], check=True)
    # The locked releases: at hand after `make setup`, and in the index for a bare machine.
    wanted = f"windlass[agents,nats,postgres,redis] @ {built['.whl'].as_uri()}"
    install = [uv, "pip", "install", "--quiet", "--python", str(python)]
    lock = ["--constraint", str(ROOT / "requirements.lock")]
    done = subprocess.run([*install, *lock, wanted], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "bin"


@pytest.fixture
def served(installed: Path, tmp_path: Path) -> Iterator[str]:
    port = free_port()
    command = [str(installed / "windlass"), "server", "--no-auth", "--port", str(port)]
    database = ["--db", f"sqlite:///{tmp_path / 'w.db'}", "--quiet"]
    url = f"http://127.0.0.1:{port}"

    def ready() -> bool:
        try:
            return httpx.get(f"{url}/readyz", timeout=2).status_code == 200
        except httpx.HTTPError:
            return False

    with subprocess.Popen([*command, *database], cwd=tmp_path) as process:
        try:
            wait_until(ready)
            yield url
        finally:
            process.terminate()
            process.wait(20)


def test_the_wheel_alone_serves_and_runs_a_flow(
    installed: Path, served: str, tmp_path: Path
) -> None:
    def windlass(*args: str) -> str:
        command = [str(installed / "windlass"), *args, "--server", served]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    (tmp_path / "nap.json").write_text(TIMER)
    windlass("flow", "push", "nap.json")
    assert windlass("run", "start", "nap", "--wait", "20s").endswith("\tsucceeded\n")
    assert httpx.get(served, headers={"Accept": "text/html"}).status_code == 200
    check = """
import asyncpg, nats, pydantic_ai, redis, windlass
from windlass.testing.local import local_engine
print(windlass.Flow, windlass.Worker, windlass.Client, local_engine)
"""
    subprocess.run([str(installed / "python"), "-c", check], check=True, capture_output=True)
    bench = subprocess.run(
        [str(installed / "windlass"), "bench", "--quick"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert bench.returncode == 1
    assert "run it in a checkout" in bench.stderr

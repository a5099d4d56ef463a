"""Real worker processes: signals, and the push mode over HTTP."""

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest

from tests.integration.worker.fake_server import FakeServer, serving

SERVICES = """
import time
from pathlib import Path

import windlass

w = windlass.Worker()


@w.service("nap")
def nap(ctx, seconds):
    Path("begun").touch()
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        ctx.check()
        time.sleep(0.01)
    return "rested"


@w.service("deaf")
def deaf(seconds):
    Path("begun").touch()
    time.sleep(seconds)


@w.service("whoami")
def whoami(ctx):
    return {"attempt": ctx.attempt_id, "run": ctx.run_id, "number": ctx.number}
"""


@pytest.fixture
def fake() -> FakeServer:
    return FakeServer()


@pytest.fixture
def url(fake: FakeServer) -> Iterator[str]:
    with serving(fake) as found:
        yield found


class Process:
    def __init__(self, folder: Path, *args: str) -> None:
        (folder / "services.py").write_text(SERVICES)
        command = [sys.executable, "-m", "windlass", "worker", "services:w", *args]
        self.popen = subprocess.Popen(command, cwd=folder)

    def end(self, timeout_s: float = 10) -> int:
        try:
            return self.popen.wait(timeout_s)
        finally:
            self.kill()

    def kill(self) -> None:
        self.popen.kill()
        self.popen.wait()


def begun(folder: Path) -> bool:
    """Whether a handler has. What a worker was only handed it gives back when it is to end."""
    return (folder / "begun").exists()


def test_sigterm_lets_running_work_end_and_reports_it(
    fake: FakeServer, url: str, tmp_path: Path
) -> None:
    process = Process(tmp_path, "--server", url, "--mode", "pull", "--id", "w-9")
    fake.offer(fake.attempt("nap", {"seconds": 0.5}))
    fake.wait_for(lambda: begun(tmp_path))
    process.popen.send_signal(signal.SIGTERM)
    assert process.end() == 0
    assert [result["output"] for result in fake.accepted.values()] == ["rested"]
    assert fake.left == ["w-9"]


def test_work_that_does_not_end_in_time_is_given_back_and_does_not_hold_the_process(
    fake: FakeServer, url: str, tmp_path: Path
) -> None:
    process = Process(tmp_path, "--server", url, "--drain-s", "0.1")
    fake.offer(fake.attempt("deaf", {"seconds": 30}))
    fake.wait_for(lambda: begun(tmp_path))
    began = time.monotonic()
    process.popen.send_signal(signal.SIGINT)
    assert process.end() == 0
    assert time.monotonic() - began < 5
    assert [result["error"]["kind"] for result in fake.accepted.values()] == ["cancelled"]


def test_a_second_signal_ends_the_process_at_once(
    fake: FakeServer, url: str, tmp_path: Path
) -> None:
    process = Process(tmp_path, "--server", url)
    fake.offer(fake.attempt("deaf", {"seconds": 30}))
    fake.wait_for(lambda: begun(tmp_path))
    process.popen.send_signal(signal.SIGINT)
    time.sleep(0.2)
    process.popen.send_signal(signal.SIGINT)
    assert process.end(3) == 130


@pytest.fixture
def pushed(fake: FakeServer, url: str, tmp_path: Path) -> Iterator[tuple[Process, str]]:
    process = Process(
        tmp_path, "--server", url, "--mode", "push", "--listen", "127.0.0.1:0", "--id", "p-1"
    )
    fake.wait_for(lambda: fake.registrations)
    yield process, fake.registrations[0]["url"]
    process.kill()


def test_a_push_worker_registers_where_it_listens_and_serves_calls(
    fake: FakeServer, pushed: tuple[Process, str]
) -> None:
    _, at = pushed
    registered = fake.registrations[0]
    assert registered["type"] == "http"
    assert registered["services"] == ["deaf", "nap", "whoami"]
    headers = {"X-Windlass-Attempt": "run-1~a.0@2"}
    body: dict[str, object] = {"input": None, "params": {}}
    answer = httpx.post(f"{at}/exec/whoami", json=body, headers=headers)
    assert answer.status_code == 200
    told = {"attempt": "run-1~a.0@2", "run": "run-1", "number": 2}
    assert answer.json() == {"result": told, "error": ""}
    odd = {"X-Windlass-Attempt": "run-1~a.0@" + "9" * 5_000, "X-Windlass-Number": "9" * 5_000}
    assert httpx.post(f"{at}/exec/whoami", json=body, headers=odd).json()["result"]["number"] == 1
    unknown = httpx.post(f"{at}/exec/nope", json=body)
    assert unknown.status_code == 404
    assert "nope" in unknown.json()["error"]
    garbled = httpx.post(f"{at}/exec/whoami", content=b"{")
    assert garbled.json()["error"] == "bad request"
    failing = httpx.post(f"{at}/exec/nap", json=body)
    assert failing.status_code == 200
    assert failing.json()["result"] is None
    assert failing.json()["kind"] == "failed"
    assert failing.json()["error"].startswith("TypeError: ")


def test_a_call_can_be_cancelled_by_its_attempt(pushed: tuple[Process, str]) -> None:
    _, at = pushed
    headers = {"X-Windlass-Attempt": "run-1~50%41.0@1"}
    cancel = f"{at}/cancel/{quote('run-1~50%41.0@1', safe='')}"
    answers: list[dict[str, str]] = []

    def call() -> None:
        body = {"input": {"seconds": 30}, "params": {}}
        answers.append(httpx.post(f"{at}/exec/nap", json=body, headers=headers, timeout=20).json())

    thread = threading.Thread(target=call)
    thread.start()
    while httpx.get(f"{at}/healthz").json()["load"] == 0:
        time.sleep(0.01)
    assert httpx.post(cancel).status_code == 200
    thread.join(5)
    assert answers[0]["kind"] == "cancelled"
    assert httpx.post(cancel).status_code == 404


def test_a_caller_that_hangs_up_stops_its_call(pushed: tuple[Process, str]) -> None:
    _, at = pushed
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(f"{at}/exec/nap", json={"input": {"seconds": 60}}, timeout=0.3)
    until = time.monotonic() + 5
    while httpx.get(f"{at}/healthz").json()["load"]:
        assert time.monotonic() < until
        time.sleep(0.01)


def test_a_push_worker_drains_before_it_leaves(
    fake: FakeServer, pushed: tuple[Process, str]
) -> None:
    process, at = pushed
    answers: list[dict[str, str]] = []

    def call() -> None:
        body = {"input": {"seconds": 0.5}, "params": {}}
        answers.append(httpx.post(f"{at}/exec/nap", json=body, timeout=20).json())

    thread = threading.Thread(target=call)
    thread.start()
    while httpx.get(f"{at}/healthz").json()["load"] == 0:
        time.sleep(0.01)
    process.popen.send_signal(signal.SIGTERM)
    assert process.end() == 0
    thread.join(5)
    assert answers[0]["result"] == "rested"
    assert fake.left == ["p-1"]
